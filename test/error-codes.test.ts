// Every code of the error table that has a status is answered by a server in some test: here, or where the table below says. A new code
// fails this until it stands in one of the two.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { createOwner, createSigningKey, signToken } from '#control/admin.ts'
import { type ErrorCode, errors } from '#proto/errors.ts'
import { post } from '#test/http.ts'
import { createTenant, eventually, startPart, startSystem } from '#test/rig.ts'

const INGEST = 'test/ingest-statuses.test.ts'
const CONTRACT = 'query/contract.test.ts'
const CONTRACT_ERRORS = 'query/contract-errors.test.ts'
const SIGN_IN = 'query/sign-in/sign-in.test.ts'
const RECORDING = 'query/endpoints/conversations/recording.test.ts'
const PROVIDER = 'query/sign-in/oidc.test.ts'

/** Where a server answers a code, by the code itself or its sentence. */
const ELSEWHERE: Partial<Record<ErrorCode, string>> = {
  REQ_BODY_TOO_LARGE: CONTRACT_ERRORS,
  REQ_BODY_INVALID: CONTRACT,
  REQ_JSON_INVALID: CONTRACT_ERRORS,
  REQ_ENCODING_UNSUPPORTED: INGEST,
  REQ_ENCODING_INVALID: INGEST,
  REQ_TYPE_UNSUPPORTED: 'test/ingest-statuses-otlp.ts',
  REQ_ROUTE_UNKNOWN: CONTRACT_ERRORS,
  REQ_METHOD_UNKNOWN: CONTRACT_ERRORS,
  REQ_HEAD_INVALID: 'test/edge/fuzz.test.ts',
  REQ_FRAMING_INVALID: 'test/edge/smuggling.test.ts',
  REQ_TIMEOUT: 'query/server.test.ts',
  REQ_SHARE: 'test/edge/crowd.test.ts',
  REQ_CROWDED: 'test/edge/crowd.test.ts',
  AUTH_ORG_MISSING: INGEST,
  AUTH_ORG_INVALID: INGEST,
  AUTH_ORG_UNKNOWN: INGEST,
  AUTH_ORG_INACTIVE: INGEST,
  AUTH_CREDENTIAL_MISSING: CONTRACT_ERRORS,
  AUTH_CREDENTIAL_INVALID: CONTRACT_ERRORS,
  AUTH_FORBIDDEN: CONTRACT,
  AUTH_ROLE: CONTRACT_ERRORS,
  AUTH_LAST_OWNER: 'query/endpoints/organizations/organizations.test.ts',
  AUTH_SIGN_IN_FAILED: SIGN_IN,
  AUTH_SIGNED_OUT: SIGN_IN,
  AUTH_NOT_INVITED: PROVIDER,
  AUTH_CROSS_SITE: SIGN_IN,
  AUTH_METHOD_OFF: SIGN_IN,
  AUTH_ATTEMPTS: SIGN_IN,
  AUTH_PROVIDER_FAILED: PROVIDER,
  ING_SESSION_UNKNOWN: INGEST,
  ING_VOICE_ORG_MISSING: INGEST,
  ING_VOICE_ORG_INVALID: INGEST,
  ING_VOICE_TYPE: INGEST,
  ING_VOICE_CALL_ID: INGEST,
  ING_VOICE_NUMBER: INGEST,
  ING_VOICE_TRANSCRIPT_TOO_LARGE: INGEST,
  ING_VOICE_TRANSCRIPT_MISSING: INGEST,
  ING_PAYLOAD_TOO_LARGE: INGEST,
  ING_RATE: 'test/ingest-rejects.test.ts',
  ING_FULL: 'test/ingest-faults.test.ts',
  QRY_NOT_FOUND: CONTRACT_ERRORS,
  OUT_FENCED: RECORDING,
  OUT_FAILED: RECORDING,
  OUT_RATE: RECORDING,
}
/** No request brings these about: mistakes of ours, which a server is made to make; and the guard of SQL, which no endpoint asks yet. */
const NOT_BY_REQUEST: Partial<Record<ErrorCode, string>> = {
  INTERNAL: 'query/server.test.ts',
  BUG: 'query/server.test.ts',
  SQL_REFUSED: 'store/guard/guard.test.ts',
  SQL_OFF: 'store/guard/guard.test.ts',
}

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const seen = new Set<ErrorCode>()
const system = await startSystem(t, { processors: 0 })
const { organization, apiKey, baseUrl, otelUrl } = system
const key = { 'x-api-key': apiKey }

/** The answer is this code: its status, its sentence and, where a body names one, the code itself. */
function answered(code: ErrorCode, { status, body }: { status: number; body: unknown }): void {
  const { error, message, code: told } = body as { error?: string; message?: string; code?: unknown }
  t.equal(status, errors[code].status, code)
  t.ok(String(error ?? message).startsWith(errors[code].text), `${code}: ${JSON.stringify(body)}`)
  if (typeof told === 'string') t.equal(told, code)
  seen.add(code)
}

const insertSpans = (of: string, rows: number): Promise<void> =>
  system.store.command(
    `INSERT INTO events (organization, conversation_id, event_id, ts, source, kind, name, origin_sequence, version, sign)
     SELECT {of:UUID}, toUUID('00000000-0000-4000-8000-000000000001'), toUUID('00000000-0000-4000-8000-' || leftPad(toString(number), 12, '0')),
       now64(9) - toIntervalSecond(number), 4, 1, 'n', 1000000 + number, 1, 1
     FROM numbers({rows:UInt32})`,
    { parameters: { of, rows }, settings: { async_insert: 0 } },
  )

t.test('traces that are none', async () => {
  const headers = { 'x-service-org-id': organization }
  const send = (path: string, body: object) => post(`${otelUrl}${path}`, body, headers)
  answered('ING_OTLP_INVALID', await send('/v1/traces', { resourceSpans: 5 }))
  answered('ING_OTLP_NOT_TRACES', await send('/v1/traces', { resourceMetrics: [] }))
  answered('ING_OTLP_SIGNAL', await send('/v1/logs', { resourceLogs: [] }))
})

t.test('a person of two organizations, or of none, has to say which', async () => {
  const other = await createTenant(system.buckets)
  const token = await signToken(
    await createSigningKey(system.buckets.control),
    { user: other.owner, organization: undefined },
    600,
  )
  const ask = () => post(`${baseUrl}/dashboard/api/raw-logs`, {}, { authorization: `Bearer ${token}` })
  await eventually('the token', async () => (await ask()).status === 200)
  const second = await createTenant(system.buckets)
  await createOwner(system.buckets.control, second.organization, other.owner)
  answered(
    'AUTH_ORG_AMBIGUOUS',
    await eventually('the second one', async () => {
      const answer = await ask()
      return answer.status === 200 ? undefined : answer
    }),
  )
})

t.test('a payload that is no longer held', async () => {
  await insertSpans(organization, 10)
  const body = { event_id: '00000000-0000-4000-8000-000000000003', rules: [{ attribute: 'a.b', field: 'model' }] }
  answered('QRY_PAYLOAD_GONE', await post(`${baseUrl}/dashboard/api/attribute-rules/try`, body, key))
})

t.test('a store that refuses, and one that is asked for too much', async () => {
  const logs = `${baseUrl}/dashboard/api/raw-logs`
  await system.store.command('RENAME TABLE events TO events_away')
  answered('QRY_STORE_FAILED', await post(logs, {}, key))
  await system.store.command('RENAME TABLE events_away TO events')
  const limits = { PARLEY_QUERY_MAX_ROWS: '50', PARLEY_QUERY_ORGANIZATION_ROWS: '1' }
  const env = {
    NATS_URL: system.nats.url,
    CLICKHOUSE_URL: system.clickhouseUrl,
    PARLEY_DATABASE: system.database,
    ...limits,
  }
  const narrow = await startPart(t, 'query/main.ts', env)
  const asked = `http://127.0.0.1:${String(narrow.about.port)}/dashboard/api/raw-logs`
  answered(
    'QRY_RATE',
    await eventually('the rate', async () => {
      const answer = await post(asked, {}, key)
      return answer.status === 429 ? answer : undefined
    }),
  )
  const large = await createTenant(system.buckets)
  await insertSpans(large.organization, 20_000)
  const others = { 'x-api-key': large.apiKey }
  answered(
    'QRY_LIMIT',
    await eventually('the key', async () => {
      const answer = await post(asked, { time_range: '1h' }, others)
      return answer.status === 401 ? undefined : answer
    }),
  )
})

t.test('neighbours that are away', async () => {
  system.query.kill('SIGKILL')
  await system.query.exited
  answered('QRY_UNREACHABLE', await post(`${baseUrl}/dashboard/api/raw-logs`, {}, key))
  await system.nats.kill9()
  const traces = {
    resourceSpans: [{ scopeSpans: [{ spans: [{ ...IDS, name: 'n', startTimeUnixNano: '1', endTimeUnixNano: '2' }] }] }],
  }
  answered(
    'ING_UNAVAILABLE',
    await eventually('an answer that nothing can be stored', async () => {
      const answer = await post(`${otelUrl}/v1/traces`, traces, { 'x-service-org-id': organization })
      return answer.status === 503 ? answer : undefined
    }),
  )
})

t.test('every code with a status has its case', async t => {
  const files = new Map<string, string>()
  for (const path of new Set([...Object.values(ELSEWHERE), ...Object.values(NOT_BY_REQUEST)])) {
    files.set(path, await readFile(new URL(`../${path}`, import.meta.url), 'utf8'))
  }
  for (const [code, { status, text }] of Object.entries(errors) as [ErrorCode, (typeof errors)[ErrorCode]][]) {
    if (status === 0 || seen.has(code)) continue
    const file = files.get(ELSEWHERE[code] ?? NOT_BY_REQUEST[code] ?? '') ?? ''
    t.ok(file.includes(code) || file.includes(text), `${code} has a case`)
  }
})
