// Preloaded into every process of an instance (`node --import`), and their threads: a .ts file of ours comes in, its text without types
// goes out, stripped once and kept below node_modules. What runs is what Node itself would run. The stripper is a WebAssembly module
// that would else be in each process and thread, 15 to 45 MiB. Plain JavaScript, because it comes before anything that could read types.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { threadId } from 'node:worker_threads'

const ROOT = new URL('../', import.meta.url)
const KEPT = new URL('node_modules/.parley-stripped/', ROOT)
const MODULES = new URL('node_modules/', ROOT).href

registerHooks({
  load(url, context, nextLoad) {
    const ours = url.endsWith('.ts') && url.startsWith(ROOT.href) && !url.startsWith(MODULES)
    if (!ours) return nextLoad(url, context)
    return { format: 'module', source: strippedOf(url), shortCircuit: true }
  },
})

/** The text of a module without its types: what was kept, if that is whole and was made of this text by this Node. */
function strippedOf(url) {
  const text = readFileSync(fileURLToPath(url), 'utf8')
  const origin = hashOf(process.version + text)
  const file = fileURLToPath(new URL(url.slice(ROOT.href.length), KEPT))
  try {
    const kept = readFileSync(file, 'utf8')
    const source = kept.slice(kept.indexOf('\n') + 1)
    if (kept.startsWith(`// ${origin} `) && kept.startsWith(headOf(origin, source))) return source
  } catch {
    // Nobody has stripped it yet.
  }
  const source = strip(text)
  keep(file, headOf(origin, source) + source)
  return source
}

/** The first line of what is kept; a machine that loses its power may leave a file without its end. */
function headOf(origin, source) {
  return `// ${origin} ${hashOf(source)}\n`
}

function hashOf(text) {
  return createHash('sha256').update(text).digest('hex')
}

/** Whole or not at all: others read it meanwhile. Where nothing can be kept, each process strips for itself. */
function keep(file, text) {
  const unfinished = `${file}.${process.pid}.${threadId}`
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(unfinished, text)
    renameSync(unfinished, file)
  } catch {
    // A folder that only others may write.
  }
}

/** Node warns that calling it is experimental; doing the same to every .ts file by itself it does not. */
function strip(text) {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}
