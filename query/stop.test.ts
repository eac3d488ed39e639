// How streams end, and how a node stops beside clients that keep their connections: streams end whole, other answers are finished.
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import Type from 'typebox'
import { silentLog } from '#test/rig.ts'
import { Chunks, type Endpoint, endpoint } from './endpoint.ts'
import { startServer } from './server.ts'
import { framed } from './sse.ts'

/** Less than the minute after which a kept connection would be ended anyway. */
t.setTimeout(30_000)

const stream = endpoint({
  method: 'GET',
  path: '/stream',
  auth: 'any',
  about: 'Says something, and nothing more until it is cancelled.',
  response: Chunks,
  produces: 'text/event-stream',
  work: async ({ signal }) => framed(untilAborted(signal)),
})

async function* untilAborted(signal: AbortSignal): AsyncGenerator<string> {
  yield 'data: 1\n\n'
  await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
}

/** A server of one endpoint, and a client that keeps its connections. */
async function start(of: Endpoint) {
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const server = await startServer(
    {
      ...{ routes: [of], maxBodyBytes: 1000, log: silentLog, notReady: async () => [] },
      bind: () => plain => of.work(plain as never, {}),
    },
    '127.0.0.1',
    0,
  )
  const ask = (method = 'GET') => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    httpRequest({ port: server.port, path: of.path, method, agent }, resolve).on('error', reject).end()
    return promise
  }
  return { server, ask }
}

t.test('a stream ends with its last frame, and the connection that carried it does not hold the stop', async t => {
  const { server, ask } = await start(stream)
  const answer = await ask()
  t.equal(answer.headers.connection, 'keep-alive')
  const read = text(answer)
  await server.close()
  t.equal(await read, 'data: 1\n\ndata: [DONE]\n\n')
})

t.test('who asks for the headers alone leaves no stream behind', async t => {
  const { promise: asked, resolve: begin } = Promise.withResolvers<AbortSignal>()
  const { server, ask } = await start({
    ...stream,
    work: async call => {
      begin(call.signal)
      return framed(untilAborted(call.signal))
    },
  })
  const answer = await ask('HEAD')
  t.equal(answer.statusCode, 200)
  t.equal(await text(answer), '')
  const signal = await asked
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  t.ok(signal.aborted)
  await server.close()
})

t.test('an answer under way is finished first', async t => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
  const { promise: asked, resolve: begun } = Promise.withResolvers<void>()
  const { server, ask } = await start(
    endpoint({
      ...{ method: 'GET', path: '/slow', auth: 'any', about: 'Takes its time.', response: Type.Object({}) },
      work: async () => {
        begun()
        await finished
        return { whole: true }
      },
    }),
  )
  const answer = ask()
  await asked
  const closed = server.close()
  finish()
  t.equal(await text(await answer), '{"whole":true}')
  await closed
})
