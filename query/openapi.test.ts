// Routes, schemas, documentation and error codes say the same.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { Compile } from 'typebox/compile'
import { errors } from '#proto/errors.ts'
import { codesOf } from './endpoint.ts'
import { openApi } from './openapi.ts'
import { INGESTION } from './openapi-ingestion.ts'
import { routes } from './routes.ts'

const text = JSON.stringify(openApi(routes))
const document = JSON.parse(text)

/** What a reference leads to. */
const at = (reference: string): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document)

/** A schema without references. */
function whole(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(whole)
  if (typeof schema !== 'object' || schema === null) return schema
  if ('$ref' in schema) return whole(at(String(schema.$ref)))
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, whole(value)]))
}

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8')

t.test('every route is unique and declares its shapes', async t => {
  const names = routes.map(route => `${route.method} ${route.path}`)
  t.strictSame([...new Set(names)], names)
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    t.match(route.path, /^\/(dashboard\/api|auth)(\/[\w.-]+|\/\{\w+\})+$/, name)
    t.match(route.about, /^[A-Z].+\.$/, `${name}: a sentence`)
    const shape = route.response as { type?: string; anyOf?: { type: string }[] }
    const types = shape.anyOf?.map(choice => choice.type) ?? [shape.type]
    for (const type of types) t.match(type, route.produces ? 'string' : /^(object|array|null)$/, `${name}: response`)
    if (route.request) t.match(route.request, { type: 'object' }, `${name}: request`)
  }
})

t.test('routes.ts reads as the table that it is', async t => {
  const table = await read('routes.ts')
  const listed = [...table.matchAll(/\/\/ (GET|POST|PUT|DELETE) +(\/(?:dashboard\/api|auth)\S+)/g)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  t.strictSame(
    listed,
    routes.map(route => `${route.method} ${route.path}`),
  )
})

t.test('docs/api.md lists every route', async t => {
  const page = await read('../docs/api.md')
  const listed = /<!-- routes -->\n([\s\S]*?)<!-- \/routes -->/.exec(page)?.[1]
  const rows = routes.map(({ method, path, auth, about }) => `| ${method} | \`${path}\` | ${auth} | ${about} |`)
  t.equal(listed?.trim(), ['| | path | credential | answer |', '|---|---|---|---|', ...rows].join('\n'))
})

t.test('the document has every route with its shapes, and codes that exist with their status', async t => {
  t.equal(document.openapi, '3.1.0')
  const operations = new Set<string>()
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    const operation = document.paths[route.path][route.method.toLowerCase()]
    t.equal(operation.summary, route.about, name)
    operations.add(operation.operationId)
    const expected = codesOf(route).filter(code => errors[code].status > 0)
    t.strictSame(operation['x-codes'].toSorted(), [...expected].sort(), name)
    for (const code of expected) t.ok(operation.responses[errors[code].status], `${name}: ${code}`)
    if (route.request && route.method !== 'GET') t.ok(operation.requestBody.content['application/json'].schema)
  }
  for (const { path, operationId, codes } of INGESTION) {
    const operation = document.paths[path].post
    operations.add(operationId)
    t.ok(operation.responses[200].headers['X-Parley-Receipt'], path)
    for (const code of codes) t.ok(operation.responses[errors[code].status], `${path}: ${code}`)
  }
  t.equal(operations.size, routes.length + INGESTION.length, 'operation ids are unique')
  const paths = Object.values<object>(document.paths).flatMap(path => Object.keys(path))
  t.equal(paths.length, routes.length + INGESTION.length, 'and nothing else')
})

t.test('a request body is required where a field has no default', async t => {
  t.equal(document.paths['/dashboard/api/raw-logs'].post.requestBody.required, false)
  t.equal(document.paths['/dashboard/api/event-io'].post.requestBody.required, true)
})

t.test('bodies that are answered are valid by the document, and those that are refused are not', async t => {
  const isValid = (path: string, body: unknown, type = 'application/json'): boolean =>
    Compile(whole(document.paths[path].post.requestBody.content[type].schema) as object).Check(body)
  // Of the contract: every field of these has a default.
  for (const route of routes) {
    const { requestBody } = document.paths[route.path][route.method.toLowerCase()]
    if (requestBody?.required === false && route.method === 'POST') t.ok(isValid(route.path, {}), `${route.path} {}`)
  }
  for (const path of ['user-stories', 'raw-logs', 'dashboard', 'errors', 'tool-stats', 'command-center-summary']) {
    t.ok(isValid(`/dashboard/api/${path}`, {}), path)
    t.ok(isValid(`/dashboard/api/${path}`, { time_range: '1d', metadata_filters: [{ key: 'a', value: 'b' }] }), path)
    t.notOk(isValid(`/dashboard/api/${path}`, { time_range: 'ever' }), path)
  }
  t.notOk(isValid('/dashboard/api/event-io', {}))
  const session_id = randomUUID()
  const event_id = randomUUID()
  t.ok(isValid('/api/v1/capture-session', { session_id, user_data: { user_id: 'ada' } }))
  t.notOk(isValid('/api/v1/capture-session', { session_id: 'x' }))
  const said = { session_id, primitive_name: 'support', args: 'Where?', result: 'Here.' }
  t.ok(isValid('/api/v1/capture-event', { event_id, ...said, latency: 812 }))
  t.ok(isValid('/api/v1/capture-event', { ...said, primitive_type: 'tool', success: true, latency: 0 }))
  t.notOk(isValid('/api/v1/capture-event', said))
  const report = { type: 'end-of-call-report', call: { id: 'call-1', customer: { number: '+15550100' } }, cost: 0.12 }
  t.ok(isValid('/api/voice/v1/webhooks/voice-platform', { message: report }))
  t.ok(isValid('/v1/traces', { resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'x' }] }] }] }))
})

t.test('schemas have names, every reference leads somewhere, and nothing is there that nobody refers to', async t => {
  const found = new Set(text.match(/(?<="\$ref":")[^"]+/g))
  t.ok(found.size > 80, `${found.size} references`)
  for (const reference of found) t.ok(at(reference), reference)
  for (const kind of ['schemas', 'responses', 'parameters']) {
    for (const name of Object.keys(document.components[kind])) t.ok(found.has(`#/components/${kind}/${name}`), name)
  }
  for (const name of ['EventRow', 'ConversationRow', 'UserStoriesRequest', 'CaptureEventRequest', 'Error']) {
    t.ok(document.components.schemas[name], name)
  }
  t.notMatch(text, /"expected":"/, 'what is ours begins with x-')
  t.ok(text.length < 220_000, `${text.length} bytes`)
  const tags = new Set<string>(document.tags.map(({ name }: { name: string }) => name))
  for (const path of Object.values<Record<string, { tags: string[] }>>(document.paths)) {
    for (const operation of Object.values(path)) t.ok(tags.has(operation.tags[0] ?? ''))
  }
  t.strictSame(document.servers[0].url, '/')
})
