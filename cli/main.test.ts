// The command from outside: what it says of itself, and that it ends when it cannot go on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readVersion } from '#runtime/version.ts'
import { nodeEnv, startNats } from '#test/rig.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const COMMANDS = [
  ...['backup', 'control', 'dead', 'doctor', 'erase', 'explain'],
  ...['rebuild', 'remap', 'replay', 'restore', 'sql', 'verify'],
]

/** Runs the command to its end. */
async function parley(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH, ...nodeEnv, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.on('data', chunk => (out += String(chunk)))
  child.stderr.on('data', chunk => (err += String(chunk)))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

t.test('--help is an answer, of all commands and of one', async t => {
  const all = await parley(['--help'])
  t.match(all, { code: 0, err: '' })
  for (const name of COMMANDS) t.match(all.out, new RegExp(`^parley ${name} `, 'm'))
  for (const args of [
    ['dead', '--help'],
    ['dead', 'list', '-h'],
  ]) {
    const one = await parley(args)
    t.match(one, { code: 0, err: '' })
    const named = one.out.split('\n').filter(line => line.startsWith('parley '))
    t.ok(named.length > 1 && named.every(line => line.startsWith('parley dead ')), one.out)
  }
  t.match(await parley(['--version']), { code: 0, out: `${await readVersion()}\n` })
})

t.test('a call that is wrong says how it is right', async t => {
  t.match(await parley([]), { code: 2, out: '', err: /^usage:\nparley backup / })
  t.match(await parley(['nothing']), { code: 2, out: '', err: /^usage:\nparley backup / })
  t.match(await parley(['verify', '--sinse', '3d']), { code: 2, out: '', err: /--sinse[\s\S]*\nparley verify / })
})

t.test('a store that is away ends the command, though NATS is there', async t => {
  const nats = await startNats(t)
  const env = { NATS_URL: nats.url, CLICKHOUSE_URL: 'http://127.0.0.1:1' }
  for (const name of ['doctor', 'verify']) {
    t.match(await parley([name], env), { code: 2, out: '', err: 'ClickHouse does not answer: is parley running?\n' })
  }
})
