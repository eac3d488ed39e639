import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import t from 'tap'
import { createLog } from '#runtime/log.ts'
import { addressesOf, addressOf, placeOf, serversOf } from '#streams/address.ts'
import type { Line } from '#streams/line.ts'
import { openLine } from '#streams/line.ts'
import type { LineEvents } from '#streams/line-reader.ts'
import { LineReader } from '#streams/line-reader.ts'

const log = createLog({ part: 'test', level: 'silent' })

/** What a reader heard, in words. */
function heard(pieces: readonly Buffer[]): string[] {
  const words: string[] = []
  const events: LineEvents = {
    info: json => words.push(`info ${json}`),
    ping: () => words.push('ping'),
    pong: () => words.push('pong'),
    error: text => words.push(`error ${text}`),
    message: (number, data, hasHeaders) =>
      words.push(`${number} ${Buffer.from(data).toString()}${hasHeaders ? ' with headers' : ''}`),
  }
  const reader = new LineReader(events)
  // Always the same memory: what a reader keeps has to be its own.
  const memory = Buffer.alloc(4096)
  for (const piece of pieces) reader.push(memory.subarray(0, piece.copy(memory)))
  return words
}

const SAID = Buffer.from(
  'INFO {"server_name":"ä"}\r\n+OK\r\nPING\r\nPONG\r\n' +
    'MSG _INBOX.a1.17 1 27\r\n{"stream":"S0","seq":12345}\r\n' +
    'MSG _INBOX.a1.18 1 reply.9 2\r\n\r\n\r\n' +
    'HMSG _INBOX.a1.19 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n' +
    'HMSG _INBOX.a1.20 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n' +
    "-ERR 'Stale Connection'\r\n",
)
const MEANT = [
  'info {"server_name":"ä"}',
  'ping',
  'pong',
  '17 {"stream":"S0","seq":12345}',
  '18 \r\n',
  '19  with headers',
  '20 hi with headers',
  "error 'Stale Connection'",
]

t.test('what a server says is understood wherever its bytes are cut', async t => {
  const wrong: number[] = []
  for (let cut = 0; cut <= SAID.length; cut++) {
    const words = heard([SAID.subarray(0, cut), SAID.subarray(cut)])
    if (words.join('|') !== MEANT.join('|')) wrong.push(cut)
  }
  t.strictSame(wrong, [])
  t.strictSame(heard(Array.from(SAID, byte => Buffer.from([byte]))), MEANT)
})

t.test('what is no NATS ends the conversation', async t => {
  const f = (bytes: string) => t.throws(() => heard([Buffer.from(bytes)]), bytes)
  f('HTTP/1.1 400 Bad Request\r\n')
  f('MSG _INBOX.1 1 x\r\n')
  f('MSG 1\r\n')
  f('MSG _INBOX.1 1 99999999999\r\n')
  f('HMSG _INBOX.1 1 20 10\r\n')
  f(`+${'x'.repeat(2_000)}\r\n`)
})

t.test('addresses and the servers of a cluster', async t => {
  const plain = { host: '10.0.0.1', port: 4222, tlsName: '10.0.0.1' }
  t.strictSame(addressOf('nats://10.0.0.1'), plain)
  t.strictSame(addressOf('nats://a%40b:c%2Fd@nats.test:4223'), {
    ...{ host: 'nats.test', port: 4223, tlsName: 'nats.test' },
    ...{ user: 'a@b', pass: 'c/d' },
  })
  t.strictSame(addressOf('nats://tok@[::1]:4'), { host: '::1', port: 4, tlsName: '::1', token: 'tok' })
  t.strictSame(
    serversOf(addressesOf('nats://u:p@n.test'), ['10.0.0.1:4222', 'n.test:4222', '[fd00::2]:4230']).map(
      ({ host, port, tlsName, user }) => `${user}@${host} ${port} ${tlsName}`,
    ),
    ['u@n.test 4222 n.test', 'u@10.0.0.1 4222 n.test', 'u@fd00::2 4230 n.test'],
  )
  const several = addressesOf('nats://u:p@a.test,nats://b.test:4223,nats://u:p@[::1]')
  t.strictSame(several.map(placeOf), ['a.test:4222', 'b.test:4223', '[::1]:4222'])
  t.strictSame(
    several.map(({ user, pass, tlsName }) => `${user}:${pass} ${tlsName}`),
    ['u:p a.test', 'u:p b.test', 'u:p ::1'],
  )
  t.strictSame(
    serversOf(several, ['b.test:4223', 'c.test:4222']).map(({ tlsName, host }) => `${host} ${tlsName}`),
    ['a.test a.test', 'b.test b.test', '::1 ::1', 'c.test a.test'],
  )
  for (const other of ['nats://v:p@b.test', 'nats://u:q@b.test', 'nats://tok@b.test']) {
    t.throws(() => addressesOf(`nats://u:p@a.test,${other}`), { code: 'CFG_INVALID' })
  }
})

/** A server that greets, as far as `answer` wants; it hears what is said to it. */
async function server(t: { teardown(undo: () => unknown): unknown }, answer: (socket: Socket, said: string) => void) {
  const sockets = new Set<Socket>()
  const listening: Server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', data => answer(socket, data.toString('latin1')))
    socket.write('INFO {"max_payload":2048,"headers":true}\r\n')
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const end = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    end()
    listening.close()
  })
  return {
    url: `nats://u:p@127.0.0.1:${(listening.address() as AddressInfo).port}`,
    end,
    close: (): void => {
      listening.close()
      end()
    },
  }
}

/** What the line tells, one word each, as promises of the next one. */
function listenTo(line: Line) {
  const words: string[] = []
  let wake = (): void => {}
  const say = (word: string): void => {
    words.push(word)
    wake()
  }
  line.listen({
    onAnswer: (number, data, hasHeaders) => say(`${number} ${Buffer.from(data).toString()} ${hasHeaders}`),
    onDown: () => say('down'),
    onUp: () => say('up'),
  })
  return async (): Promise<string | undefined> => {
    while (words.length === 0) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    return words.shift()
  }
}

t.test('a message goes out as it is and is answered under its number; a lost connection comes back', async t => {
  let all = ''
  const { url, end } = await server(t, (socket, said) => {
    all += said
    // Asked once in the greeting, and again by a machine so slow that it takes seconds from one line to the next.
    for (; all.includes('PING\r\n'); all = all.replace('PING\r\n', '')) socket.write('PONG\r\n')
    const reply = /HPUB s0 (\S+) \d+ \d+\r\n[^]*body\r\n/.exec(all)
    if (reply === null) return
    all = all.replace('HPUB', 'SEEN')
    socket.write(`MSG ${reply[1]} 1 2\r\n{}\r\n`)
  })
  const line = await openLine({ url, name: 'test', log })
  t.teardown(() => line.close())
  const next = listenTo(line)
  t.ok(line.isUp())
  t.equal(line.maxPayloadBytes(), 2048)
  line.publish({ subject: 's0', number: 7, headers: [['Nats-Msg-Id', 'x']], bytes: Buffer.from('body') })
  t.equal(await next(), '7 {} false')
  t.match(
    all,
    /^CONNECT (\{.*\})\r\nSUB (\S+)\.\* 1\r\nSEEN s0 \2\.7 28 32\r\nNATS\/1\.0\r\nNats-Msg-Id: x\r\n\r\nbody\r\n$/,
  )
  t.match(JSON.parse(/\{.*\}/.exec(all)?.[0] ?? ''), { user: 'u', pass: 'p', name: 'test', headers: true })
  end()
  t.equal(await next(), 'down')
  t.notOk(line.isUp())
  t.equal(await next(), 'up')
  line.publish({ subject: 's0', number: 8, headers: [], bytes: Buffer.from('body') })
  t.equal(await next(), '8 {} false')
})

t.test('of several servers those that are gone are passed over, at first and later', async t => {
  const greet = (socket: Socket, said: string) => void (said.includes('PING\r\n') && socket.write('PONG\r\n'))
  const [gone, there] = [await server(t, greet), await server(t, greet)]
  gone.close()
  const line = await openLine({ url: `${gone.url},${there.url}`, name: 'test', log, timeoutMs: 120_000 })
  t.teardown(() => line.close())
  const next = listenTo(line)
  t.ok(line.isUp())
  there.end()
  t.strictSame([await next(), await next()], ['down', 'up'])
})

t.test('wrong credentials fail at once, with what the server says', async t => {
  const { url } = await server(t, socket => socket.end("-ERR 'Authorization Violation'\r\n"))
  await t.rejects(openLine({ url, name: 'test', log, timeoutMs: 60_000 }), { message: /Authorization Violation/ })
})
