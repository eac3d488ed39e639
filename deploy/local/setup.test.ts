// The set-up script with an npm that only pretends: when it installs, when it does not, and how it recovers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Teardown } from '#test/rig.ts'
import { eventually, tempDir } from '#test/rig.ts'

const SCRIPT = fileURLToPath(new URL('./setup.sh', import.meta.url))
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** What the pretended npm does as `npm install`; told by FAKE. */
const FAKE_NPM = `
const fs = require('node:fs')
fs.appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n')
fs.rmSync('node_modules/.bin', { recursive: true, force: true })
for (const name of ['uWebSockets.js', 'ffi-rs', 'chdb']) fs.rmSync('node_modules/' + name, { force: true })
fs.mkdirSync('node_modules/.bin', { recursive: true })
fs.writeFileSync('node_modules/half', '')
if (process.env.FAKE === 'hang') return setInterval(() => {}, 1000)
if (process.env.FAKE === 'fail') { console.error('npm error no such thing'); process.exit(1) }
if (process.env.FAKE === 'lock') fs.appendFileSync('package-lock.json', '\\n')
fs.symlinkSync(process.execPath, 'node_modules/.bin/node')
if (process.env.FAKE !== 'platform') {
  for (const name of ['uWebSockets.js', 'ffi-rs', 'chdb']) fs.symlinkSync(${JSON.stringify(MODULES)} + '/' + name, 'node_modules/' + name)
}
`

interface Checkout {
  readonly dir: string
  /** Runs the script; `interruptWhen` sends Ctrl-C once it is true. */
  run(fake?: string, interruptWhen?: () => Promise<boolean>): Promise<{ code: number | null; output: string }>
  calls(): Promise<string[]>
}

async function checkout(t: Teardown): Promise<Checkout> {
  const dir = await tempDir(t)
  await mkdir(join(dir, 'deploy/local'), { recursive: true })
  await mkdir(join(dir, 'bin'))
  await copyFile(SCRIPT, join(dir, 'deploy/local/setup.sh'))
  await writeFile(join(dir, 'package.json'), '{\n  "dependencies": {\n    "node": "22.0.0"\n  }\n}\n')
  await writeFile(join(dir, 'package-lock.json'), '{}\n')
  await writeFile(join(dir, 'fake-npm.cjs'), FAKE_NPM)
  // As `npm exec … node -p …` it names the Node to use and npm's own program.
  await writeFile(join(dir, 'bin/npm'), `#!/bin/sh\nprintf '%s\\n' '${process.execPath}' '${dir}/fake-npm.cjs'\n`)
  await chmod(join(dir, 'bin/npm'), 0o755)
  return {
    dir,
    calls: () =>
      readFile(join(dir, 'calls'), 'utf8').then(
        text => text.trim().split('\n'),
        () => [],
      ),
    run: async (fake = '', interruptWhen) => {
      const child = spawn('sh', [join(dir, 'deploy/local/setup.sh')], {
        cwd: dir,
        detached: true,
        // NATS_URL: this is about the dependencies.
        env: { PATH: `${join(dir, 'bin')}${delimiter}${process.env.PATH}`, FAKE: fake, NATS_URL: 'nats://127.0.0.1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
      const closed = once(child, 'close')
      if (interruptWhen) {
        await eventually('the moment to interrupt', interruptWhen)
        // To the whole group, as a terminal does.
        process.kill(-(child.pid as number), 'SIGINT')
      }
      const [code] = (await closed) as [number | null]
      return { code, output }
    },
  }
}

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  )

t.test('dependencies are installed once, and again when what is locked has changed', async t => {
  const { dir, run, calls } = await checkout(t)
  const first = await run()
  t.equal(first.code, 0, first.output)
  t.match(first.output, /installing Node 22\.0\.0/)
  const second = await run()
  t.same(second, { code: 0, output: '' })
  t.equal((await calls()).length, 1)
  await writeFile(join(dir, 'package-lock.json'), '{"changed":true}\n')
  t.equal((await run()).code, 0)
  t.equal((await calls()).length, 2)
})

t.test('an interrupted installation ends at once and is thrown away by the next start', async t => {
  const { dir, run, calls } = await checkout(t)
  const cut = await run('hang', async () => (await calls()).length === 1)
  t.equal(cut.code, 130)
  t.match(cut.output, /interrupted/)
  await writeFile(join(dir, 'node_modules/rest'), '')
  const next = await run()
  t.equal(next.code, 0, next.output)
  t.notOk(await exists(join(dir, 'node_modules/rest')))
})

t.test('a failed installation shows what npm said and is tried again by the next start', async t => {
  const { run } = await checkout(t)
  const failed = await run('fail')
  t.equal(failed.code, 1)
  t.match(failed.output, /npm error no such thing\nparley: the installation failed/)
  t.equal((await run()).code, 0)
})

t.test('an installation that changes the lock says so loudly', async t => {
  const { run } = await checkout(t)
  t.match((await run('lock')).output, /WARNING: .*CHANGED package-lock\.json/)
})

t.test('a platform without the parts in machine code is told so', async t => {
  const { run } = await checkout(t)
  const { code, output } = await run('platform')
  t.equal(code, 1)
  t.match(output, /parley: no parts for .*: parley runs on Linux/)
})
