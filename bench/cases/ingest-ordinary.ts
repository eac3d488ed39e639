// The ordinary design: Fastify, a JSON schema, one awaited JetStream publish per request. Where it has a choice it does less than it
// would have to: the bytes are published as they came, sessions are not looked up, repeats are not told apart. Protobuf is decoded, as
// whoever answers 400 must; by parley's own decoder.
// Arguments: address of NATS, subject, organization. Sends its port to the parent.
import type { AddressInfo } from 'node:net'
import { jetstream } from '@nats-io/jetstream'
import Fastify from 'fastify'
import { decodeTraces } from '#proto/otlp/decode.ts'
import { createLog } from '#runtime/log.ts'
import { connect } from '#streams/connect.ts'

process.on('disconnect', () => process.exit())

const [url = '', subject = '', organization = ''] = process.argv.slice(2)
const uuid = { type: 'string', pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' }
const text = { type: 'string' }
const common = {
  event_id: uuid,
  session_id: uuid,
  primitive_name: text,
  args: text,
  result: text,
  timestamp: { type: 'integer' },
  parent_id: uuid,
  metadata: { type: 'object', additionalProperties: text },
}
const latency = { type: 'number', minimum: 0 }
const primitiveType = { enum: ['tool', 'resource', 'prompt'] }
const eventSchema = {
  type: 'object',
  anyOf: [
    {
      required: ['session_id', 'primitive_name', 'primitive_type', 'success', 'latency'],
      properties: { ...common, primitive_type: primitiveType, success: { type: 'boolean' }, latency },
    },
    {
      required: ['event_id', 'session_id', 'primitive_name'],
      properties: { ...common, primitive_type: { const: '' }, latency },
    },
  ],
}
const list = (items: object) => ({ type: 'array', items })
const hex = (digits: number) => ({ type: 'string', pattern: `^[0-9a-fA-F]{${digits}}$` })
const attributes = list({ type: 'object', required: ['key'], properties: { key: text, value: { type: 'object' } } })
const spanSchema = {
  type: 'object',
  required: ['traceId', 'spanId'],
  properties: { traceId: hex(32), spanId: hex(16), name: text, attributes },
}
const exportSchema = {
  type: 'object',
  properties: {
    resourceSpans: list({
      type: 'object',
      properties: {
        resource: { type: 'object', properties: { attributes } },
        scopeSpans: list({ type: 'object', properties: { spans: list(spanSchema) } }),
      },
    }),
  },
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it came. */
    bytes: Buffer
  }
}

const log = createLog({ part: 'bench', level: 'silent' })
const js = jetstream(await connect({ url, name: 'bench ordinary', log }))
const app = Fastify({
  bodyLimit: 16 * 1024 * 1024,
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
})
app.decorateRequest('bytes')
app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
  request.bytes = body
  try {
    done(null, JSON.parse(body.toString()))
  } catch (error) {
    done(error as Error)
  }
})
app.addContentTypeParser<Buffer>('application/x-protobuf', { parseAs: 'buffer' }, (request, body, done) => {
  request.bytes = body
  const decoded = decodeTraces(body, 'protobuf')
  if (decoded.ok) done(null, {})
  else done(new Error('the body is no export'))
})
app.addHook('onRequest', (request, reply, done) => {
  const named = request.headers['x-org-id'] ?? request.headers['x-service-org-id']
  if (named === organization) return done()
  void reply.code(401).send({ error: 'unknown organization' })
})

app.post<{ Body: { event_id: string } }>('/api/v1/capture-event', { schema: { body: eventSchema } }, async request => {
  await js.publish(subject, request.bytes)
  return { event_id: request.body.event_id }
})
app.post('/v1/traces', { schema: { body: exportSchema } }, async request => {
  await js.publish(subject, request.bytes)
  return {}
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.((app.server.address() as AddressInfo).port)
