// What of a part's log an operator sees on the terminal.
import t from 'tap'
import { worthSaying } from './logs.ts'

const line = (level: string, msg: string, more: object = {}): string =>
  JSON.stringify({ level, time: '2026-01-01T00:00:00.000Z', part: 'processor', pid: 7, ...more, msg })

t.test('warnings and errors are said with what tells one from the other', t => {
  t.equal(
    worthSaying(line('warn', 'NATS connection lost; reconnecting', { connection: 'receiver follow' })),
    'warn: NATS connection lost; reconnecting (connection receiver follow)',
  )
  t.equal(
    worthSaying(
      line('error', 'partition ended on an error', { err: { message: 'no room', stack: 'at x' }, partition: 0 }),
    ),
    'error: partition ended on an error (no room, partition 0)',
  )
  t.equal(worthSaying(line('fatal', 'A port is in use')), 'fatal: A port is in use')
  t.end()
})

t.test('the rest stays in the file, and what is no log line is said as it is', t => {
  for (const level of ['trace', 'debug', 'info']) t.equal(worthSaying(line(level, 'ready', { port: 1 })), undefined)
  t.equal(worthSaying(' \n'), undefined)
  t.equal(worthSaying('Segmentation fault'), 'Segmentation fault')
  t.equal(worthSaying('{"level":'), '{"level":')
  t.end()
})

t.test('a line is short, whatever it holds', t => {
  const long = line('warn', 'a payload became a dead letter', { reason: 'x'.repeat(10_000), rows: [1, 2], code: null })
  t.equal(worthSaying(long)?.length, 400)
  t.notMatch(worthSaying(long), /rows|code/)
  t.end()
})
