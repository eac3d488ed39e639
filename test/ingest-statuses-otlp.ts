// The statuses of the trace collector, in JSON and in protobuf; a part of ingest-statuses.test.ts, whose receiver and memory they share.
import { randomBytes, randomUUID } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import type t from 'tap'
import type { Answer } from '#test/http.ts'
import { post } from '#test/http.ts'
import type { ReceiverSystem } from '#test/receiver-rig.ts'

const MiB = 1024 * 1024

/** What they need: a receiver's two addresses, and a way to post that remembers what was taken. */
interface Collector {
  readonly system: ReceiverSystem
  readonly baseUrl: string
  readonly otelUrl: string
  readonly opsPort: number
  readonly send: (
    url: string,
    body: unknown,
    headers: Record<string, string>,
  ) => Promise<Answer<Record<string, unknown>>>
}

const span = (traceId: string) => ({ traceId, spanId: randomBytes(8).toString('hex'), name: 'chat' })
const exportOf = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] })

/** Declares the tests. */
export function otlpStatuses(
  parent: Pick<typeof t, 'test'>,
  { system, baseUrl, otelUrl, opsPort, send }: Collector,
): void {
  const collector = { 'x-service-org-id': system.organization }

  void parent.test('OTLP JSON: 200, partial success, and errors as google.rpc.Status', async t => {
    const url = `${otelUrl}/v1/traces`
    const trace = () => randomBytes(16).toString('hex')
    for (const path of ['/v1/traces', '//v1/traces', '/v1/traces/', '/api/public/otel/v1/traces', '/', '//']) {
      const answer = await send(`${otelUrl}${path}`, exportOf(span(trace())), collector)
      t.equal(answer.status, 200)
      t.strictSame(answer.body, {})
    }
    const bare = { 'content-type': 'application/x-protobuf' }
    t.equal((await post(otelUrl, '', bare)).status, 401, 'an exporter that names no organization hears so')
    t.match(
      await post(otelUrl, {}, {}),
      { status: 404, body: { error: 'Not found' } },
      'what is no export is not taken',
    )
    t.equal((await send(`${baseUrl}/v1/traces`, exportOf(span(trace())), collector)).status, 200, 'on the other port')
    const partial = await send(url, exportOf(span(trace()), span('0'.repeat(32))), collector)
    t.match(partial.body, { partialSuccess: { rejectedSpans: '1', errorMessage: /trace id/ } })
    const before = (await system.stored()).length
    const empty = await post(url, {}, collector)
    const nothing = await post(url, exportOf(span('0'.repeat(32))), collector)
    t.strictSame([empty.status, empty.body, nothing.status], [200, {}, 200])
    t.strictSame(
      [empty, nothing].map(answer => answer.headers.get('x-parley-receipt')),
      ['none', 'none'],
    )
    t.match(nothing.body, { partialSuccess: { rejectedSpans: '1' } })
    t.equal((await system.stored()).length, before, 'nothing to store')

    const f = async (body: unknown, status: number, code: number, message: RegExp, headers: Record<string, string>) => {
      const answer = await post(url, body, headers)
      t.equal(answer.status, status)
      t.match(answer.body, { code, message })
    }
    await f({}, 401, 16, /header is missing/, {})
    await f({}, 401, 16, /not a uuid/, { 'x-service-org-id': 'acme' })
    await f({}, 401, 16, /Unknown organization/, { 'x-service-org-id': randomUUID() })
    await f({}, 401, 16, /not active/, { 'x-service-org-id': system.inactive })
    await f('{', 400, 3, /cannot be read/, collector)
    await f({ resourceLogs: [{ scopeLogs: [] }] }, 400, 3, /another OTLP signal/, collector)
    await f({}, 400, 3, /Unsupported content type/, { ...collector, 'content-type': 'text/plain' })
    await f('x'.repeat(16 * MiB + 1), 413, 3, /too large/, collector)
  })

  void parent.test('OTLP protobuf: 200 and errors in protobuf, packed or not', async t => {
    const url = `${otelUrl}/v1/traces`
    const protobuf = { ...collector, 'content-type': 'application/x-protobuf' }
    const field = (number: number, bytes: Uint8Array) =>
      Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
    const spanBytes = Buffer.concat([
      field(1, randomBytes(16)),
      field(2, randomBytes(8)),
      field(5, Buffer.from('chat')),
    ])
    const body = field(1, field(2, field(2, spanBytes)))
    const exchange = async (bytes: Uint8Array, headers: Record<string, string>) => {
      const response = await fetch(url, { method: 'POST', body: new Uint8Array(bytes), headers })
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        bytes: Buffer.from(await response.arrayBuffer()),
      }
    }
    const plain = await exchange(body, protobuf)
    t.strictSame([plain.status, plain.type, plain.bytes.length], [200, 'application/x-protobuf', 0])
    const zipped = await exchange(gzipSync(body), { ...protobuf, 'content-encoding': 'gzip' })
    const deflated = await exchange(deflateSync(body), { ...protobuf, 'content-encoding': 'deflate' })
    for (const packed of [zipped, deflated]) t.strictSame([packed.status, packed.bytes.length], [200, 0])
    t.equal((await system.stored()).filter(frame => frame.bytes.equals(body)).length, 3, 'all are stored inflated')

    const f = async (bytes: Uint8Array, status: number, code: number, headers: Record<string, string>) => {
      const answer = await exchange(bytes, headers)
      t.strictSame([answer.status, answer.type], [status, 'application/x-protobuf'])
      t.strictSame([...answer.bytes.subarray(0, 3)], [0x08, code, 0x12], 'google.rpc.Status')
    }
    await f(Buffer.from([0xff, 0xff, 0xff]), 400, 3, protobuf)
    await f(body, 400, 3, { ...protobuf, 'content-encoding': 'gzip' })
    await f(body, 401, 16, { 'content-type': 'application/x-protobuf' })
  })

  void parent.test('metrics are accepted and forgotten, in the encoding of the exporter', async t => {
    const forgotten = async (): Promise<number> => {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
      return Number(/^parley_ingest_ignored_total\{kind="metrics",.*\} (\d+)$/m.exec(text)?.[1] ?? 0)
    }
    const before = (await system.stored()).length
    for (const path of ['/v1/metrics', '//v1/metrics/']) {
      const json = await post(`${otelUrl}${path}`, { resourceMetrics: [{}] }, collector)
      t.match(json, { status: 200, body: {} })
      t.equal(json.headers.get('content-type'), 'application/json')
      t.equal(json.headers.get('x-parley-receipt'), 'none')
    }
    const protobuf = { ...collector, 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' }
    const packed = await post(`${otelUrl}/v1/metrics`, gzipSync(randomBytes(100_000)), protobuf)
    t.match(packed, { status: 200, body: '' })
    t.equal(packed.headers.get('content-type'), 'application/x-protobuf')
    t.equal((await post(`${baseUrl}/v1/metrics`, '{}', collector)).status, 200, 'on the other port')
    t.equal(await forgotten(), 4)
    t.equal((await system.stored()).length, before, 'nothing is stored')

    t.match(await post(`${otelUrl}/v1/metrics`, {}, {}), {
      status: 401,
      body: { code: 16, message: /header is missing/ },
    })
    const inactive = { 'x-service-org-id': system.inactive }
    t.equal((await post(`${otelUrl}/v1/metrics`, {}, inactive)).status, 401)
    t.equal((await post(`${otelUrl}/v1/metrics`, {}, { ...collector, 'content-type': 'text/plain' })).status, 400)
    t.equal((await post(`${otelUrl}/v1/metrics`, 'x'.repeat(16 * MiB + 1), collector)).status, 413)
    t.equal((await fetch(`${otelUrl}/v1/metrics`)).status, 405)
    t.equal(await forgotten(), 4)
  })

  void parent.test('exporters of logs get a quick 404 that says what to set', async t => {
    for (const path of ['/v1/logs', '//v1/logs/']) {
      const answer = await post(`${otelUrl}${path}`, {}, collector)
      t.match(answer, { status: 404, body: { code: 5, message: /set OTEL_LOGS_EXPORTER=none/ } })
    }
    const protobuf = { ...collector, 'content-type': 'application/x-protobuf' }
    t.match(await post(`${otelUrl}/v1/logs`, '', protobuf), { status: 404, body: /set OTEL_LOGS_EXPORTER=none/ })
  })
}
