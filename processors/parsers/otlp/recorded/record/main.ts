// Records fixtures anew:  node processors/parsers/otlp/recorded/record/main.ts HOME [NAME...]
//
// Each name is a folder of node/ or python/ with a program that talks to the real, published SDK. The program is installed below
// HOME (a scratch folder, reused by the next call), run against the stubbed models and the sink, and what its exporter sent becomes
// the fixture of that name. Without a name all are recorded. Needs npm for node/, and python3 with uv or pip for python/.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { catalogue } from './catalogue.ts'
import { createModelServer, type Served } from './model-server.ts'
import { normalise } from './normalise.ts'
import { createSink, type Export } from './sink.ts'
import { fromProtobuf, type Message, toProtobuf } from './transcode.ts'

const HERE = import.meta.dirname
const FIXTURES = join(HERE, '..', 'fixtures')
/** A fixture is read by people: one that is larger needs a shorter conversation. */
const MAX_BYTES = 100 * 1024

type Language = 'node' | 'python'

/** Runs a program to its end; its output goes to a file. */
async function run(command: string, args: readonly string[], cwd: string, env: string[], log: string): Promise<void> {
  const child = spawn('env', [...env, command, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => output.push(chunk as Buffer))
  const [code] = (await once(child, 'close')) as [number]
  await writeFile(log, Buffer.concat(output))
  if (code !== 0) throw new Error(`${command} ended with ${code}, see ${log}`)
}

/** Copies the program and installs what it needs, unless that was done before. */
async function install(language: Language, name: string, home: string): Promise<void> {
  await mkdir(home, { recursive: true })
  await cp(join(HERE, language, name), home, { recursive: true })
  await cp(
    join(HERE, language, `common.${language === 'node' ? 'mjs' : 'py'}`),
    join(home, `common.${language === 'node' ? 'mjs' : 'py'}`),
  )
  const manifest = await readFile(join(home, language === 'node' ? 'package.json' : 'requirements.txt'), 'utf8')
  const marker = join(home, `installed-${createHash('sha256').update(manifest).digest('hex').slice(0, 12)}`)
  if (existsSync(marker)) return
  const log = join(home, 'install.log')
  if (language === 'node')
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'], home, [], log)
  else {
    await run('python3', ['-m', 'venv', '.venv'], home, [], log)
    await run('.venv/bin/pip', ['install', '-q', 'uv'], home, [], log)
    await run('.venv/bin/uv', ['pip', 'install', '-q', '-r', 'requirements.txt'], home, ['VIRTUAL_ENV=.venv'], log)
  }
  await writeFile(marker, '')
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs a program between stubs; what arrived. */
async function observe(
  language: Language,
  name: string,
  home: string,
): Promise<{ exports: Export[]; served: Served[] }> {
  const models = createModelServer()
  const sink = createSink()
  const [modelUrl, sinkUrl] = [await listen(models.server), await listen(sink.server)]
  const env = [
    ...[
      `MODEL_URL=${modelUrl}`,
      `OTLP_URL=${sinkUrl}`,
      'OPENAI_API_KEY=stub',
      'ANTHROPIC_API_KEY=stub',
      'PYTHONHASHSEED=0',
    ],
    ...['GOOGLE_API_KEY=stub', `OPENAI_BASE_URL=${modelUrl}/v1`, `ANTHROPIC_BASE_URL=${modelUrl}`],
    ...(catalogue[name]?.env ?? []).map(each => each.replace('$OTLP_URL', sinkUrl).replace('$MODEL_URL', modelUrl)),
  ]
  const [command, program] = language === 'node' ? [process.execPath, 'run.mjs'] : ['.venv/bin/python', 'run.py']
  try {
    await run(command, [program], home, env, join(home, 'run.log'))
  } finally {
    for (const { server } of [models, sink]) {
      server.close()
      server.closeAllConnections()
    }
  }
  return { exports: sink.exports, served: models.served }
}

/** A body as JSON form. A protobuf body is checked to lose nothing by that. */
function read({ encoding, body }: Export): Message {
  if (encoding === 'json') return JSON.parse(body.toString()) as Message
  const message = fromProtobuf(body)
  if (!isDeepStrictEqual(fromProtobuf(toProtobuf(message)), message)) throw new Error('the transcoder loses something')
  return message
}

async function record(name: string, home: string): Promise<void> {
  const language: Language = existsSync(join(HERE, 'node', name)) ? 'node' : 'python'
  await install(language, name, home)
  const { exports, served } = await observe(language, name, home)
  await mkdir(join(home, 'raw'), { recursive: true })
  await Promise.all(exports.map(({ encoding, body }, i) => writeFile(join(home, 'raw', `${i}.${encoding}`), body)))
  if (exports.length === 0) throw new Error('nothing was exported')
  const request = normalise(name, exports.map(read), {
    texts: catalogue[name]?.volatile ?? [],
    measured: catalogue[name]?.measured ?? [],
    paths: [home, homedir()],
  })
  const bin = toProtobuf(request)
  if (bin.length > MAX_BYTES) throw new Error(`${bin.length} bytes are too many for a fixture`)
  const folder = join(FIXTURES, name)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'traces.bin'), bin)
  // A line for each span, for readers of differences.
  await writeFile(join(folder, 'traces.json'), `${JSON.stringify(request).replaceAll('{"traceId"', '\n{"traceId"')}\n`)
  await writeFile(
    join(folder, 'about.json'),
    `${JSON.stringify(await about(name, language, exports, served), null, 2)}\n`,
  )
  process.stdout.write(`${name}: ${exports.length} requests, ${bin.length} bytes, ${served.length} model calls\n`)
}

/** What the recording says about itself: SDK, encoding, and what the stubbed models counted. */
async function about(
  name: string,
  language: Language,
  exports: readonly Export[],
  served: readonly Served[],
): Promise<object> {
  const sum = (key: keyof Served['usage']): number => served.reduce((total, call) => total + call.usage[key], 0)
  const manifest = await readFile(
    join(HERE, language, name, language === 'node' ? 'package.json' : 'requirements.txt'),
    'utf8',
  )
  const packages =
    language === 'node'
      ? Object.entries((JSON.parse(manifest) as { dependencies: Record<string, string> }).dependencies).map(pin =>
          pin.join('@'),
        )
      : manifest.trim().split('\n')
  return {
    title: catalogue[name]?.title ?? name,
    language,
    packages,
    encoding: exports[0]?.encoding,
    paths: [...new Set(exports.map(({ path }) => path))],
    calls: served.map(({ api, model, counted }) => ({ api, model, counted })),
    served: { input: sum('input'), output: sum('output'), cached: sum('cached'), reasoning: sum('reasoning') },
  }
}

const [home, ...names] = process.argv.slice(2)
if (home === undefined) throw new Error('usage: main.ts HOME [NAME...]')
const all = (await Promise.all(['node', 'python'].map(each => readdir(join(HERE, each), { withFileTypes: true }))))
  .flat()
  .filter(entry => entry.isDirectory())
  .map(entry => entry.name)
let failed = 0
for (const name of names.length > 0 ? names : all.sort()) {
  try {
    await record(name, resolve(home, name))
  } catch (error) {
    failed++
    process.stdout.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`)
  }
}
process.exitCode = failed > 0 ? 1 : 0
