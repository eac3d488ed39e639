// Preloaded by `npm test` into every process of ours that a test starts, and their threads: types are stripped once, as in an instance
// (runtime/stripped.mjs); what is loaded is compiled once; and where a name leads is looked up once, which is most of what is left of a
// start (0.3 instead of 0.6 CPU seconds for a processor, 0.4 instead of 0.8 for a query node, whose 1,500 modules are looked for one by
// one). Places are found under the lock of the dependencies, so what runs is what Node itself would run. Plain JavaScript, because it
// comes before anything that could read types.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { enableCompileCache, registerHooks, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import threads, { isMainThread, threadId } from 'node:worker_threads'
import '../runtime/stripped.mjs'

const ROOT = new URL('../', import.meta.url)
const LOCKED = ['package-lock.json', 'package.json'].map(name => readFileSync(new URL(name, ROOT)))
/** The folder of `?bundled=`: dependencies made into one file each (see bundle.ts), by the name that they are imported under. */
const BUNDLES = new URL(import.meta.url).searchParams.get('bundled')
const RESOLVED = fileURLToPath(new URL(`.tap/resolved-${hashOf(...LOCKED).slice(0, 12)}.json`, ROOT))
/** By the address of a test file the test that it adds to, where that is not the one of the process. */
const TESTS = Symbol.for('parley.tests')
/** What was found is told to others this soon: a process that is killed says nothing at its end. */
const SAVE_MS = 1_000

// A test file tells the runner what it cost, with every process of its own that it has seen end. Those do not tell for themselves.
const toldTo = process.env.PARLEY_TEST_CPU_FILE
delete process.env.PARLEY_TEST_CPU_FILE
if (toldTo !== undefined && isMainThread) {
  process.on('exit', () => {
    try {
      writeFileSync(toldTo, readFileSync('/proc/self/stat'))
    } catch {
      // Systems without /proc do without the figure.
    }
  })
}

mkdirSync(new URL('.tap/', ROOT), { recursive: true })
enableCompileCache(fileURLToPath(new URL('.tap/compiled/', ROOT)))

/** `<i or r> <name> <folder that asks>` -> where it leads (from the root, or a part of Node) and as what. */
const resolved = readResolved()
let unsaved = false
process.on('exit', save)

const bundled = readBundled()

registerHooks({
  resolve(name, context, nextResolve) {
    const folder = context.parentURL?.slice(0, context.parentURL.lastIndexOf('/') + 1)
    if (!folder?.startsWith(ROOT.href)) return nextResolve(name, context)
    // Several test files in one process have a test each (see together.ts).
    if (name === 'tap' && globalThis[TESTS]?.has(context.parentURL)) {
      return { url: ownTestOf(context.parentURL), format: 'module', shortCircuit: true }
    }
    const how = context.conditions.includes('import') ? 'i' : 'r'
    const bundle = how === 'i' && !folder.includes('/node_modules/') ? bundled.get(name) : undefined
    if (bundle !== undefined) return { url: bundle, format: 'module', shortCircuit: true }
    const key = `${how} ${name} ${folder.slice(ROOT.href.length)}`
    const known = resolved.get(key)
    if (known !== undefined) {
      const [to, format] = known
      return { url: to.startsWith('node:') ? to : ROOT.href + to, format: format ?? undefined, shortCircuit: true }
    }
    const found = nextResolve(name, context)
    const ours = found.url.startsWith(ROOT.href)
    if (ours || found.url.startsWith('node:')) {
      resolved.set(key, [ours ? found.url.slice(ROOT.href.length) : found.url, found.format])
      if (!unsaved) setTimeout(save, SAVE_MS).unref()
      unsaved = true
    }
    return found
  },
})

// A thread that is given an environment of its own starts without what NODE_OPTIONS says, and so without this file: then it strips
// everything by itself, 1.2 CPU seconds for a thread that parses. It is told, and finds the environment as it was given.
const { NODE_OPTIONS } = process.env
if (process.env.PARLEY_TEST_THREAD_ENV !== undefined) {
  delete process.env.PARLEY_TEST_THREAD_ENV
  delete process.env.NODE_OPTIONS
}
if (NODE_OPTIONS !== undefined) {
  threads.Worker = class extends threads.Worker {
    constructor(file, options) {
      const { env } = options ?? {}
      const given = typeof env === 'object' && env !== null && env !== process.env && env.NODE_OPTIONS === undefined
      super(file, given ? { ...options, env: { ...env, NODE_OPTIONS, PARLEY_TEST_THREAD_ENV: '1' } } : options)
    }
  }
  syncBuiltinESMExports()
}

/** The address of a module that stands for tap and exports the test of one file. */
function ownTestOf(url) {
  const text = `export default globalThis[Symbol.for('parley.tests')].get(${JSON.stringify(url)})`
  return `data:text/javascript,${encodeURIComponent(text)}`
}

function readResolved() {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(RESOLVED, 'utf8'))))
  } catch {
    return new Map()
  }
}

function readBundled() {
  if (BUNDLES === null) return new Map()
  const found = Object.entries(JSON.parse(readFileSync(`${BUNDLES}/bundled.json`, 'utf8')))
  return new Map(found.map(([name, file]) => [name, pathToFileURL(`${BUNDLES}/${file}`).href]))
}

/** Adds what was found here to what others have found. */
function save() {
  if (!unsaved) return
  unsaved = false
  write(RESOLVED, JSON.stringify(Object.fromEntries([...readResolved(), ...resolved])))
}

/** Whole or not at all: others read it meanwhile. */
function write(file, text) {
  const unfinished = `${file}.${process.pid}.${threadId}`
  writeFileSync(unfinished, text)
  renameSync(unfinished, file)
}

function hashOf(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
