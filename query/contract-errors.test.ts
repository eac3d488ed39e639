// Every error that the contract names, of every endpoint that may answer it.
import t from 'tap'
import type { TSchema } from 'typebox'
import { createApiKey } from '#control/admin.ts'
import { eventually } from '#test/rig.ts'
import { codesOf, type Endpoint } from './endpoint.ts'
import { id } from './fixture.ts'
import { CHAT, startDataNode } from './fixture-data.ts'
import { routes } from './routes.ts'
import { createChecker } from './validate.ts'

const node = await startDataNode(t)
const { a, b, post } = node
const viewer = await createApiKey(node.buckets.control, {
  organization: a.organization,
  name: 'viewer',
  createdBy: 'test',
  scopes: ['read'],
})

/** Answers of every shape. */
type Body = Awaited<ReturnType<typeof post>>['body']

async function answerOf(path: string, body: object): Promise<Body> {
  const { status, body: answer } = await post(path, body)
  if (status !== 200) throw new Error(`${path} ${JSON.stringify(body)}: ${status} ${JSON.stringify(answer)}`)
  return answer
}

const seen = new Set<string>()
const key = { 'x-api-key': a.apiKey }

async function refused(
  route: Pick<Endpoint, 'method' | 'path'>,
  options: { body?: unknown; headers?: Record<string, string> },
): Promise<{ status: number; code: string; field: string | undefined }> {
  const { status, body } = await node.ask(route.method, route.path.replaceAll(/\{\w+\}/g, id(404)), options)
  const { error, code, field, request_id } = body
  if (typeof error !== 'string' || error === '' || typeof request_id !== 'string') {
    throw new Error(`${route.path}: ${JSON.stringify(body)}`)
  }
  seen.add(code)
  return { status, code, field }
}

const ofOrganization = routes.filter(({ auth, organization = 'chosen' }) => auth === 'any' && organization === 'chosen')
const fieldsOf = (route: Endpoint): Set<string> =>
  new Set(Object.keys((route.request as { properties?: object } | undefined)?.properties ?? {}))

t.test('who asks comes first, then for what: 401, 403, 400', async t => {
  for (const route of ofOrganization) {
    const name = `${route.method} ${route.path}`
    const bad = route.request && route.method !== 'GET' ? { body: '{' } : {}
    const f = async (headers: Record<string, string>, status: number, code: string): Promise<void> => {
      const answer = await refused(route, { ...bad, headers })
      t.strictSame([answer.status, answer.code], [status, code], name)
      t.ok(codesOf(route).includes(answer.code as never), `${name} declares ${code}`)
    }
    await f({}, 401, 'AUTH_CREDENTIAL_MISSING')
    await f({ 'x-api-key': `parley_${'0'.repeat(64)}` }, 401, 'AUTH_CREDENTIAL_INVALID')
    await f({ ...key, 'x-org-id': b.organization }, 403, 'AUTH_FORBIDDEN')
    if ('body' in bad) await f(key, 400, 'REQ_JSON_INVALID')
  }
  const keys = { path: '/dashboard/api/organization/event-keys', method: 'PUT' } as const
  await eventually('the key', async () => {
    const { code } = await refused(keys, { headers: { 'x-api-key': viewer.key }, body: {} })
    return code === 'AUTH_ROLE'
  })
})

/** A value that no body may have, by field. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  time_range: ['2d', 7],
  from: ['yesterday', 5],
  to: ['2300-01-01'],
  timezone: ['Mars/Base', 1],
  connection_type: [5, [null]],
  agent_name: [{}, [1]],
  metadata_filters: ['plan', [{ key: 'plan' }], [{ key: '', value: 'x' }]],
  page: [0, -1, 1.5, 'x'],
  page_size: [0, 201, 'x'],
  cursor: [5],
  event_id: ['x', 5],
  conversation_id: ['x', 5],
  session_id: ['', 5],
  search_query: [5, 'x'.repeat(1001)],
  success: ['yes'],
  exclude_io: ['yes'],
  search_field: ['name'],
  group_level: ['everything'],
  group_by: ['plan', { source: 'elsewhere', key: 'plan' }],
  sort: ['random'],
  sentiment_ids: [['x']],
  sop_ids: ['x'],
  allow_limited_preview: ['yes'],
}

t.test('every field of every filter body refuses what is none, and names itself', async t => {
  const bodies = ofOrganization.filter(route => route.method === 'POST' && fieldsOf(route).has('time_range'))
  t.ok(bodies.length >= 17, `${bodies.length} endpoints take filters`)
  for (const route of bodies) {
    for (const field of fieldsOf(route)) {
      for (const value of WRONG[field] ?? []) {
        const answer = await refused(route, { headers: key, body: { [field]: value } })
        const said = `${route.path} ${field}: ${JSON.stringify(value)?.slice(0, 40)}`
        t.match(answer, { status: 400, code: 'REQ_BODY_INVALID' }, said)
        t.equal(answer.field?.split(/[./[]/)[0], field, said)
      }
    }
  }
})

t.test('null is "not set" where a field may be absent, and refused where it may not', async t => {
  const nulls = (route: Endpoint): object => Object.fromEntries([...fieldsOf(route)].map(field => [field, null]))
  for (const route of ofOrganization.filter(route => route.method === 'POST' && fieldsOf(route).has('time_range'))) {
    const { read } = createChecker(route.request as TSchema)
    const needed = (route.request as { required?: string[] }).required ?? []
    const wanted = needed.filter(field => !('default' in (route.request as { properties: Body }).properties[field]))
    const given = Object.fromEntries(wanted.map(field => [field, 'x']))
    t.strictSame(read({ ...nulls(route), ...given }), read(given), route.path)
  }
  const dashboard = await answerOf('dashboard', {
    time_range: null,
    agent_name: null,
    metadata_filters: null,
    page: null,
  })
  t.strictSame(dashboard, await answerOf('dashboard', {}))
  const f = async (path: string, body: object, field: string): Promise<void> => {
    const route = { method: 'POST', path: `/dashboard/api/${path}` } as const
    const answer = await refused(route, { headers: key, body })
    t.strictSame(answer, { status: 400, code: 'REQ_BODY_INVALID', field }, JSON.stringify(body))
  }
  await f('event-io', { event_id: null }, 'event_id')
  await f('raw-logs', { metadata_filters: [{ key: 'plan', value: null }] }, 'metadata_filters.0.value')
  await f('charts/query', { metric: null, filters: { agent_name: null } }, 'metric')
})

t.test('companions of groups, and of searches', async t => {
  const group_by = { source: 'user_metadata', key: 'plan' }
  const stories = { method: 'POST', path: '/dashboard/api/user-stories' } as const
  for (const body of [
    { search_field: 'user_id' },
    { search_value: 'ada' },
    { group_by, search_field: 'user_id', search_value: 'ada' },
    { group_by, group_level: 'users' },
    { group_by, group_level: 'conversations', group_value: 'pro' },
  ]) {
    t.match(
      await refused(stories, { headers: key, body }),
      { status: 400, code: 'REQ_BODY_INVALID' },
      JSON.stringify(body),
    )
  }
})

t.test('what does not exist is 404, and what is no id is 400', async t => {
  const f = async (
    method: Endpoint['method'],
    path: string,
    body: unknown,
    status: number,
    code: string,
  ): Promise<void> => {
    const answer = await refused({ method, path: `/dashboard/api/${path}` }, { headers: key, body })
    t.strictSame([answer.status, answer.code], [status, code], `${method} ${path}`)
  }
  const unknown = { conversation_id: id(404) }
  for (const path of ['conversation-messages', 'conversation-spans', 'conversation-detail']) {
    await f('POST', path, unknown, 404, 'QRY_NOT_FOUND')
    await f('POST', path, {}, 400, 'REQ_BODY_INVALID')
    await f('POST', path, { conversation_id: 'x' }, 400, 'REQ_BODY_INVALID')
  }
  await f('GET', `conversation-audio?conversation_id=${id(404)}`, undefined, 404, 'QRY_NOT_FOUND')
  await f('GET', `conversation-audio?conversation_id=${CHAT}`, undefined, 404, 'QRY_NOT_FOUND')
  await f('GET', 'conversation-audio', undefined, 400, 'REQ_BODY_INVALID')
  await f('POST', 'event-io', { event_id: id(404) }, 404, 'QRY_NOT_FOUND')
  await f('POST', 'event-io', {}, 400, 'REQ_BODY_INVALID')
  await f('POST', 'explain-event', { event_id: id(404) }, 404, 'QRY_NOT_FOUND')
  await f('DELETE', `dashboard/charts/${id(404)}`, undefined, 404, 'QRY_NOT_FOUND')
  await f('DELETE', 'dashboard/charts/x', undefined, 400, 'REQ_BODY_INVALID')
  await f('PUT', 'dashboard/charts/reorder', { chart_ids: [id(404)] }, 400, 'REQ_BODY_INVALID')
  await f('POST', 'dashboard/charts', { title: 'x', chart_type: 'line', metric: 'select 1' }, 400, 'REQ_BODY_INVALID')
  await f('PUT', `views/${id(404)}`, { name: 'x' }, 404, 'QRY_NOT_FOUND')
  await f('DELETE', `attribute-rules/${id(404)}`, undefined, 404, 'QRY_NOT_FOUND')
  await f('POST', 'nowhere', {}, 404, 'REQ_ROUTE_UNKNOWN')
  await f('POST', 'raw-logs/', {}, 404, 'REQ_ROUTE_UNKNOWN')
  await f('GET', 'raw-logs', undefined, 405, 'REQ_METHOD_UNKNOWN')
  await f('POST', 'raw-logs', `{"search_query":"${'x'.repeat(70_000)}"}`, 413, 'REQ_BODY_TOO_LARGE')
})

t.test('what the contract names has been seen', async t => {
  const named = [
    ...['AUTH_CREDENTIAL_MISSING', 'AUTH_CREDENTIAL_INVALID', 'AUTH_FORBIDDEN', 'AUTH_ROLE'],
    ...['REQ_JSON_INVALID', 'REQ_BODY_INVALID', 'REQ_BODY_TOO_LARGE', 'REQ_ROUTE_UNKNOWN', 'REQ_METHOD_UNKNOWN'],
    'QRY_NOT_FOUND',
  ]
  for (const code of named) t.ok(seen.has(code), code)
})
