// The ordinary design, on one page: a receiver publishes each request and answers when the stream has it; a consumer inserts what it has
// pulled and acknowledges after that; a table that replaces by id, and a view that sums what is inserted. Nothing in it is careless.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import uWS from 'uWebSockets.js'
import { randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { type JsMsg, jetstream } from '@nats-io/jetstream'
import { decodeTraces } from '#proto/otlp/decode.ts'
import type { PartContext, RunningPart } from '#runtime/part.ts'
import { runPart } from '#runtime/part.ts'
import { createStore } from '#store/client.ts'
import { connect } from '#streams/connect.ts'
import type { OrdinaryRow } from './ordinary-target.ts'

type Content = 'event' | 'session' | 'voice' | 'json' | 'protobuf'
type Body = Readonly<Record<string, unknown>>
type Report = { readonly message: { readonly call: { readonly id: string } } }

await runPart('ordinary', context => (context.env.STORM_ROLE === 'receiver' ? receive(context) : consume(context)))

/** Publishes each request by itself. */
async function receive({ env, log }: PartContext): Promise<RunningPart> {
  const nc = await connect({ url: env.NATS_URL ?? '', name: 'ordinary receiver', log })
  const js = jetstream(nc)
  const app = uWS.App()
  const take = (contentOf: (req: HttpRequest) => Content) => (res: HttpResponse, req: HttpRequest) => {
    const content = contentOf(req)
    const known = [req.getHeader('x-org-id'), req.getHeader('x-service-org-id')].includes(env.STORM_ORGANIZATION ?? '')
    const gzip = req.getHeader('content-encoding') === 'gzip'
    let aborted = false
    const answer = (status: string, text: string): void => {
      if (!aborted) res.cork(() => res.writeStatus(status).end(text))
    }
    res.onAborted(() => {
      aborted = true
    })
    const chunks: Buffer[] = []
    res.onData((chunk, last) => {
      chunks.push(Buffer.from(new Uint8Array(chunk)))
      if (!last) return
      if (!known) return answer('401', '{}')
      const body = gzip ? gunzipSync(Buffer.concat(chunks)) : Buffer.concat(chunks)
      const id = randomUUID()
      try {
        rowsOf(content, body, id)
      } catch {
        return answer('400', '{}')
      }
      js.publish(`ordinary.${content}.${id}`, body).then(
        () => answer('200', '{}'),
        () => answer('503', '{}'),
      )
    })
  }
  app.post(
    '/api/v1/capture-event',
    take(() => 'event'),
  )
  app.post(
    '/api/v1/capture-session',
    take(() => 'session'),
  )
  app.post(
    '/api/voice/v1/webhooks/voice-platform',
    take(() => 'voice'),
  )
  app.post(
    '/v1/traces',
    take(req => (req.getHeader('content-type') === 'application/json' ? 'json' : 'protobuf')),
  )
  for (const port of [env.PARLEY_PORT, env.PARLEY_OTLP_PORT]) app.listen('127.0.0.1', Number(port), () => {})
  return {
    notReady: () => [],
    stop: async () => {
      app.close()
      await nc.drain()
    },
  }
}

/** Inserts what it has pulled, and acknowledges it then. */
async function consume({ env, log }: PartContext): Promise<RunningPart> {
  const nc = await connect({ url: env.NATS_URL ?? '', name: 'ordinary consumer', log })
  const store = createStore({
    url: env.CLICKHOUSE_URL ?? '',
    database: env.PARLEY_DATABASE ?? '',
    application: 'ordinary',
  })
  let stopping = false
  const working = (async () => {
    while (!stopping) {
      try {
        const consumer = await jetstream(nc).consumers.get('ORDINARY', 'store')
        const messages: JsMsg[] = []
        for await (const message of await consumer.fetch({ max_messages: 500, expires: 1_000 })) messages.push(message)
        const values = messages.flatMap(({ subject, data }) => {
          const [, content, id = ''] = subject.split('.')
          return rowsOf(content as Content, data, id)
        })
        if (values.length > 0) await store.client.insert({ table: 'events', values, format: 'JSONEachRow' })
        await Promise.all(messages.map(message => message.ackAck()))
      } catch (error) {
        // What is not acknowledged comes again.
        log.warn({ err: error }, 'a batch has failed')
      }
    }
  })()
  return {
    notReady: () => [],
    stop: async () => {
      stopping = true
      await working
      await Promise.all([nc.close(), store.close()])
    },
  }
}

/** The rows of a body. @throws when it is none. */
function rowsOf(content: Content, body: Uint8Array, minted: string): OrdinaryRow[] {
  if (content === 'json' || content === 'protobuf') {
    const decoded = decodeTraces(body, content)
    if (!decoded.ok) throw new Error('no export')
    return decoded.spans.map(({ spanId, traceId }) => ({
      id: spanId,
      conversation: traceId,
      source: content,
      mark: spanId,
    }))
  }
  const read = JSON.parse(Buffer.from(body).toString()) as Body & Report
  if (content === 'voice') {
    const conversation = read.message.call.id
    return [0, 1].map(i => ({ id: `${conversation}/${i}`, conversation, source: content, mark: conversation }))
  }
  const { session_id, event_id, metadata } = read as Body as {
    session_id: string
    event_id?: string
    metadata?: { n: string }
  }
  if (session_id.length !== 36) throw new Error('no session')
  if (content === 'session') return [{ id: session_id, conversation: session_id, source: content, mark: session_id }]
  const source = event_id === undefined ? 'minted' : 'event'
  return [{ id: event_id ?? minted, conversation: session_id, source, mark: metadata?.n ?? '' }]
}
