// How an insert travels, looked at between processor and engine: it says its length, and one that is cut off stores nothing.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import type { LinkRow } from '#proto/rows.ts'
import { createStore } from '#store/client.ts'
import { freshDatabase } from '#test/rig.ts'
import { createEncoder } from './encoder.ts'
import { insertBody } from './insert.ts'

const { url, store, database } = await freshDatabase(t)
const signal = new AbortController().signal
const heard: IncomingMessage[] = []
/** Bytes of a body that reach the engine before the connection ends. */
let passed = Number.POSITIVE_INFINITY

const between = createServer((near, answer) => {
  heard.push(near)
  // Whoever is cut off hears so as an error of its own request.
  void forward(near, answer).catch(() => answer.destroy())
})
between.listen(0, '127.0.0.1')
t.teardown(() => between.closeAllConnections())
t.teardown(() => between.close())
await new Promise(resolve => between.once('listening', resolve))
const address = new URL(url)
address.port = String((between.address() as AddressInfo).port)
const proxied = createStore({ url: address.href, database, application: 'test' })
t.teardown(() => proxied.close())

async function forward(near: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { method, headers, url: path = '' } = near
  const far = request(new URL(path, url), { method, headers })
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    far.once('response', resolve).once('error', reject),
  )
  await Promise.all([
    pipeline(near, cutting(far.destroy.bind(far)), far),
    answered.then(response => {
      answer.writeHead(response.statusCode ?? 0, response.headers)
      return pipeline(response, answer)
    }),
  ])
}

/** Passes on what may pass, and then ends the connection. */
function cutting(end: () => void) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let left = passed
    for await (const chunk of chunks) {
      if (chunk.length > left) {
        yield chunk.subarray(0, left)
        return end()
      }
      left -= chunk.length
      yield chunk
    }
  }
}

function linksOf(rows: number): Uint8Array {
  const encoder = createEncoder()
  for (let i = 0; i < rows; i++) {
    const row: LinkRow = {
      ...{ organization: NIL_UUID, trace_id: NIL_UUID, provisional_id: NIL_UUID, conversation_id: NIL_UUID },
      ...{ session_id: `session ${i}`, started_at: '2026-11-22 10:00:00.000000000', span_id: '1' },
      ...{ depth: 0, retention: 0 },
    }
    const origin = { origin_partition: 0, origin_generation: 1, origin_sequence: i, origin_frame: 0, origin_index: 0 }
    encoder.add('links', row, origin)
  }
  return encoder.finish()[0]?.body ?? new Uint8Array()
}

const count = async (): Promise<number> =>
  Number((await store.read<{ n: string }>('SELECT count() AS n FROM links'))[0]?.n)

t.test('an insert says its length, and is stored', async t => {
  const body = linksOf(3)
  const outcome = await insertBody(proxied, { table: 'links', token: 'whole', body, signal })
  t.equal(outcome.is, 'inserted')
  t.equal(heard.at(-1)?.headers['content-length'], String(body.length))
  t.equal(heard.at(-1)?.headers['transfer-encoding'], undefined)
  t.equal(await count(), 3)
})

t.test('of an insert that is cut off nothing is stored, and its outcome is unknown', async t => {
  const body = linksOf(2_000)
  const before = await count()
  for (const part of [0, 0.5, 1]) {
    passed = Math.floor((body.length - 1) * part)
    const outcome = await insertBody(proxied, { table: 'links', token: `cut ${part}`, body: body.slice(), signal })
    t.equal(outcome.is, 'unknown')
    t.equal(await count(), before)
  }
  passed = Number.POSITIVE_INFINITY
  const outcome = await insertBody(proxied, { table: 'links', token: 'cut 1', body, signal })
  t.equal(outcome.is, 'inserted')
  t.equal(await count(), before + 2_000)
})
