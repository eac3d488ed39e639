// `npm test`: test files come in as arguments (none: all), a line for each comes out, what failed is told at the end. Files run beside
// each other as plain processes of Node, short ones several in one, the longest first; the engine that they share is held from the
// first file to the last.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundleDependencies } from './bundle.ts'
import { cpuSecondsOf } from './cpu.ts'
import { sharedClickHouse } from './engines.ts'
import { GROUPS } from './groups.ts'
import { judged } from './judged.ts'
import { LONGEST } from './longest.ts'
import { temporaryFolder } from './memory-disk.ts'

const ROOT = join(import.meta.dirname, '..')
const PRELOADED = new URL('./stripped.mjs', import.meta.url)
/** Each run has a folder of its own in here, called by its process, until a later run finds that process gone. */
const RESULTS = join(ROOT, '.tap', 'test-results')
const TOGETHER = join(import.meta.dirname, 'together.ts')
/** A file that takes longer hangs. It is asked what it waits for first (tap tells), and then ended. */
const FILE_TIMEOUT_S = 1_200
const GRACE_S = 60
/** Fewer files do without the shared engine, or start it themselves. */
const HOLD_ENGINE_FROM = 8
/** How much of a failure is shown; the whole of it is in the results. */
const SHOWN_LINES = 60
/** Tests wait for engines and leases a good part of their time: the more, the less they compute. */
const JOBS_PER_CORE = 3
/** So many of the longest files are started before groups of short ones. */
const GROUPS_AFTER = 12

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: 'string' }, save: { type: 'string' }, results: { type: 'string' } },
})
const jobs = Number(values.jobs ?? availableParallelism() * JOBS_PER_CORE)
if (!(jobs >= 1)) {
  const options = '[--jobs=N] [--save=FILE with what failed] [--results=FOLDER of what files say]'
  throw new Error(`usage: npm test [-- ${options} [files or folders]]`)
}
const results = resolve(values.results ?? join(RESULTS, String(process.pid)))

const say = (text: string): boolean => process.stdout.write(`${text}\n`)

interface Outcome {
  readonly file: string
  readonly failed: boolean
  readonly total: number
  readonly passed: number
  readonly seconds: number
  /** CPU seconds of the file's process and of those that it started and saw end. */
  readonly cpu: { own: number; children: number } | undefined
  readonly output: string
}

/** What test/together.ts says of a file. */
interface Told {
  readonly total: number
  readonly passed: number
  readonly cpu: number
}

/** True of a file, and of what is in a folder. */
const isIn = (file: string, path: string): boolean => file === path || file.startsWith(`${path}/`)

/** The files asked for, the longest first; with `--save` what failed the last time. */
async function choose(): Promise<string[]> {
  const saved = values.save === undefined ? '' : await readFile(values.save, 'utf8').catch(() => '')
  const asked = saved.trim() === '' ? positionals : saved.trim().split('\n')
  const all: string[] = []
  const exclude = (path: string): boolean => /(^|\/)(node_modules|\.[^/]+)$/.test(path)
  for await (const file of glob('**/*.test.ts', { cwd: ROOT, exclude })) all.push(file)
  for (const path of GROUPS.flat()) {
    if (!all.some(file => isIn(file, path))) throw new Error(`${path} of test/groups.ts does not exist`)
  }
  for (const file of LONGEST) if (!all.includes(file)) throw new Error(`${file} of test/longest.ts does not exist`)
  const paths = asked.map(path => relative(ROOT, resolve(path)))
  const chosen = all.filter(file => paths.length === 0 || paths.some(path => path === '' || isIn(file, path)))
  const rank = (file: string): number => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length)
  return chosen.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

const running = new Set<ChildProcess>()

/** Makes room: what runs of processes that are gone have left goes, what runs beside this one is left alone. */
async function clearResults(): Promise<void> {
  await mkdir(RESULTS, { recursive: true })
  for (const name of await readdir(RESULTS)) {
    if (name === String(process.pid) || !isRunning(name))
      await rm(join(RESULTS, name), { recursive: true, force: true })
  }
  await mkdir(results, { recursive: true })
}

/** True of the id of a living process. */
function isRunning(name: string): boolean {
  try {
    return /^\d+$/.test(name) && process.kill(Number(name), 0)
  } catch {
    return false
  }
}

/** Processes to run, the longest first: most have one file. */
function deal(chosen: readonly string[]): string[][] {
  const groupOf = (file: string): number =>
    LONGEST.includes(file) ? -1 : GROUPS.findIndex(paths => paths.some(path => isIn(file, path)))
  const groups = Map.groupBy(chosen, groupOf)
  const alone = groups.get(-1) ?? []
  const shared = [...groups].filter(([group]) => group !== -1).map(([, files]) => files)
  const first = alone.filter(file => LONGEST.includes(file)).map(file => [file])
  const rest = alone.slice(first.length).map(file => [file])
  // Groups take as long as the longer half of those.
  return [...first.slice(0, GROUPS_AFTER), ...shared, ...first.slice(GROUPS_AFTER), ...rest]
}

/** Runs files to their end in one process. */
async function run(group: readonly string[]): Promise<Outcome[]> {
  const startedAt = performance.now()
  const [file] = group as [string]
  const cpuFile = join(results, `${file}.cpu`)
  for (const one of group) await mkdir(dirname(join(results, one)), { recursive: true })
  const child = spawn(process.execPath, group.length === 1 ? [file] : [TOGETHER, ...group], {
    cwd: ROOT,
    env: {
      ...process.env,
      PARLEY_TEST_CPU_FILE: cpuFile,
      TAP_TIMEOUT: String(FILE_TIMEOUT_S),
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${PRELOADED.href}`.trim(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const chunks: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), (FILE_TIMEOUT_S + GRACE_S) * 1_000)
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  running.delete(child)
  if (code !== 0) chunks.push(`\n# the process ended with ${signal ?? code}\n`)
  const output = chunks.join('')
  const seconds = (performance.now() - startedAt) / 1_000
  const whole = { file, ...judged(code, output), seconds, cpu: cpuSecondsOf(cpuFile), output }
  const outcomes = group.length === 1 ? [whole] : outcomesOf(group, whole)
  for (const one of outcomes) await writeFile(join(results, `${one.file}.tap`), one.output)
  return outcomes
}

/**
 * What files of one process came to, each by itself. The first that did not come to its end has failed, with all that the process said
 * from there on; those behind it are left out. Where the process failed after each of its files had passed, the last of them has.
 */
function outcomesOf(group: readonly string[], whole: Outcome): Outcome[] {
  const outcomes: Outcome[] = []
  let at = 0
  for (const file of group) {
    const end = whole.output.indexOf(`\n# together {"file":"${file}",`, at)
    if (end < 0) {
      const cut = { ...whole, file, failed: true, total: 1, passed: 0, seconds: 0, cpu: undefined }
      return [...outcomes, { ...cut, output: whole.output.slice(at) }]
    }
    const output = whole.output.slice(at, end)
    at = whole.output.indexOf('\n', end + 1)
    const { total, passed, cpu } = JSON.parse(whole.output.slice(end + '\n# together '.length, at)) as Told
    const [, ok, ms] = /^(not ok|ok) \d+ - .* # time=([\d.]+)ms/m.exec(output) ?? []
    const failed = ok !== 'ok' || passed < total
    outcomes.push({
      ...{ file, failed, total, passed, output },
      ...{ seconds: Number(ms ?? 0) / 1_000, cpu: { own: cpu, children: 0 } },
    })
  }
  const last = outcomes.at(-1) as Outcome
  if (!whole.failed || outcomes.some(({ failed }) => failed)) return outcomes
  return [...outcomes.slice(0, -1), { ...last, failed: true, output: whole.output }]
}

/** What a file said where it failed. */
function excerptOf({ output }: Outcome): string {
  const lines = output.split('\n')
  const shown = new Set<number>()
  lines.forEach((line, at) => {
    if (/^ *not ok/.test(line)) for (let i = at; i < at + 25 && i < lines.length; i++) shown.add(i)
  })
  const chosen = lines.filter((_, i) => shown.has(i))
  return (chosen.length === 0 ? lines.slice(-SHOWN_LINES) : chosen.slice(0, SHOWN_LINES)).join('\n')
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of running) child.kill('SIGTERM')
    process.exit(1)
  })
}

const files = await choose()
say(`${files.length} files, ${jobs} at a time, temporary files in ${temporaryFolder}`)
await clearResults()
await bundleDependencies().then(
  folder => PRELOADED.searchParams.set('bundled', folder),
  (error: unknown) => say(`dependencies are loaded as they are: ${String(error)}`),
)
// It starts beside the first files. Who needs it hears itself when it cannot be had.
const shared = files.length < HOLD_ENGINE_FROM ? undefined : sharedClickHouse().catch(() => undefined)
/** What the engine that they share has cost so far. */
const sharedCpu = async (): Promise<number> =>
  ((await shared)?.pids ?? []).reduce((sum, pid) => sum + (cpuSecondsOf(`/proc/${pid}/stat`)?.own ?? 0), 0)
const startedAt = performance.now()
const waiting = deal(files)
const outcomes: Outcome[] = []
await Promise.all(
  Array.from({ length: Math.min(jobs, waiting.length) }, async () => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const ended = await run(group)
      // What was not reached, because one before it ended the process, is run by itself.
      waiting.push(...group.slice(ended.length).map(file => [file]))
      for (const outcome of ended) {
        outcomes.push(outcome)
        const { file, failed, total, seconds, cpu } = outcome
        const cost = cpu === undefined ? '' : `${(cpu.own + cpu.children).toFixed(1).padStart(6)} s CPU `
        const result = `${failed ? 'FAIL' : 'pass'} ${seconds.toFixed(1).padStart(6)} s`
        say(`${result} ${cost}${String(total).padStart(6)}  ${file}`)
      }
    }
  }),
)
const failed = outcomes.filter(outcome => outcome.failed)
for (const outcome of failed) say(`\n-- ${outcome.file}\n${excerptOf(outcome)}`)
if (values.save !== undefined) {
  if (failed.length === 0) await rm(values.save, { force: true })
  else await writeFile(values.save, failed.map(({ file }) => `${file}\n`).join(''))
}
// The last lines are those of tap's own runner, for whoever reads logs of both.
const total = outcomes.reduce((sum, outcome) => sum + outcome.total, 0)
const good = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0)
const passed = files.length - failed.length
say(`\nAsserts:  ${good} pass  ${total - good} fail  ${total} of ${total} complete`)
say(`Suites:   ${passed} pass  ${failed.length} fail  ${outcomes.length} of ${files.length} complete`)
const cpu = outcomes.reduce((sum, outcome) => sum + (outcome.cpu?.own ?? 0) + (outcome.cpu?.children ?? 0), 0)
const inEngine = await sharedCpu()
if (cpu > 0) {
  say(
    `CPU:      ${Math.round(cpu + inEngine)} s, ${Math.round(inEngine)} s of them in the ClickHouse that the files share`,
  )
}
say(`\n# { total: ${total}, pass: ${good}${good === total ? '' : `, fail: ${total - good}`} }`)
say(`# time=${Math.round(performance.now() - startedAt)}ms`)
if (files.length === 0) say('no test file is called so')
process.exitCode = failed.length === 0 && files.length > 0 ? 0 : 1
