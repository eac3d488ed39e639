// The command from outside: what it says of itself, and that it ends when it cannot go on.
import t from 'tap'
import { readVersion } from '#runtime/version.ts'
import { ends, runCommand } from '#test/command.ts'
import { startNats } from '#test/rig.ts'

const COMMANDS = [
  ...['backup', 'control', 'dead', 'doctor', 'erase', 'explain'],
  ...['rebuild', 'remap', 'replay', 'restore', 'sql', 'verify'],
]

t.test('--help is an answer, of all commands and of one', async t => {
  const all = await runCommand(['--help'])
  ends(t, all, { code: 0, err: '' })
  for (const name of COMMANDS) t.match(all.out, new RegExp(`^parley ${name} `, 'm'))
  for (const args of [
    ['dead', '--help'],
    ['dead', 'list', '-h'],
  ]) {
    const one = await runCommand(args)
    ends(t, one, { code: 0, err: '' })
    const named = one.out.split('\n').filter(line => line.startsWith('parley '))
    t.ok(named.length > 1 && named.every(line => line.startsWith('parley dead ')), one.out)
  }
  ends(t, await runCommand(['--version']), { code: 0, out: `${await readVersion()}\n` })
})

t.test('a call that is wrong says how it is right', async t => {
  ends(t, await runCommand([]), { code: 2, out: '', err: /^usage:\nparley backup / })
  ends(t, await runCommand(['nothing']), { code: 2, out: '', err: /^usage:\nparley backup / })
  ends(t, await runCommand(['verify', '--sinse', '3d']), { code: 2, out: '', err: /--sinse[\s\S]*\nparley verify / })
})

t.test('a store that is away ends the command, though NATS is there', async t => {
  const nats = await startNats(t)
  const env = { NATS_URL: nats.url, CLICKHOUSE_URL: 'http://127.0.0.1:1' }
  for (const name of ['doctor', 'verify']) {
    ends(t, await runCommand([name], env), {
      code: 2,
      out: '',
      err: 'ClickHouse does not answer: is parley running?\n',
    })
  }
})
