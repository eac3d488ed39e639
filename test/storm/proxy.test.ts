// Whatever the weather, what comes through is what was sent, in its order: a proxy that mixes bytes up would accuse the system of it.
import { connect, createServer } from 'node:net'
import t from 'tap'
import { startProxy } from './proxy.ts'

t.test('bytes stay in order while the weather changes', async t => {
  const received: Buffer[] = []
  let total = 0
  const { promise: all, resolve } = Promise.withResolvers<void>()
  const sent = Buffer.alloc(1 << 20)
  for (let i = 0; i < sent.length; i += 4) sent.writeUInt32LE(i, i)
  const server = createServer(socket => {
    socket.on('data', chunk => {
      received.push(chunk)
      total += chunk.length
      if (total >= sent.length) resolve()
    })
    socket.on('error', () => {})
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => void server.close())
  const proxy = await startProxy((server.address() as { port: number }).port)
  t.teardown(() => proxy.close())
  const socket = connect(proxy.port, '127.0.0.1')
  t.teardown(() => void socket.destroy())
  const slice = 16_384
  for (let at = 0, n = 0; at < sent.length; at += slice, n++) {
    const weather = (['fair', 'slow', 'fair', 'held'] as const)[n % 4] ?? 'fair'
    proxy.set(weather, 5)
    await new Promise<void>(done => socket.write(sent.subarray(at, at + slice), () => done()))
    // Slow pieces are still under way when it is fair again.
    await new Promise(done => setImmediate(done))
  }
  proxy.set('fair')
  await all
  t.ok(Buffer.concat(received).equals(sent))
})
