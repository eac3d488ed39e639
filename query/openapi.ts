// The table of routes -> an OpenAPI 3.1 document: what the code checks is what the document says. The receivers' paths stand beside it.
import { STATUS_CODES } from 'node:http'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import { accessOf } from './access.ts'
import type { Endpoint } from './endpoint.ts'
import { codesOf } from './endpoint.ts'
import { NAMED_SCHEMAS } from './named-schemas.ts'
import { INGESTION, type IngestionPath } from './openapi-ingestion.ts'
import { type Components, createComponents, type Json } from './openapi-schemas.ts'
import { createChecker } from './validate.ts'

/** Version of the contract that the paths follow. */
const CONTRACT_VERSION = '2.1.3'

const ERROR_SCHEMA: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string', description: 'A sentence.' },
    code: { type: 'string', description: 'Stable; docs/errors.md lists them.' },
    field: { type: 'string', description: 'The field of the request at fault, in dot notation.' },
    request_id: { type: 'string', description: 'As in x-request-id and in the log.' },
  },
}

/** What belongs together, by the first of these that a path begins with. */
const TAGS: readonly (readonly [name: string, paths: RegExp, about: string])[] = [
  ['ingestion', /^\/(?:api|v1)\//, 'What agents, voice platforms and OpenTelemetry send.'],
  ['sign-in', /^\/auth\//, 'Signing in, tokens and their keys.'],
  ['receipts', /\/(?:ledger|receipts|organization\/rejected-requests)/, 'What became of what was sent.'],
  [
    'organizations',
    /\/(?:profile|organizations|organization\/(?:summary|displayId|audit|api-keys))/,
    'People, keys and the audit log.',
  ],
  ['erasure', /\/(?:users|erasures|organization\/retention)/, 'What is kept, and what is deleted.'],
  ['conversations', /\/(?:user-stories|conversation-|live)/, 'Conversations, their messages, spans and recordings.'],
  ['events', /\/(?:raw-logs|event-io|errors|exports|explain-event)/, 'Single events and failures.'],
  ['tools', /\/tool/, 'How tools do.'],
  ['prices and rules', /\/(?:prices|attribute-rules)/, 'What model calls cost, and how attributes are read.'],
  ['dashboards', /./, 'Figures, charts and saved views.'],
]
const tagOf = (path: string): string => TAGS.find(([, paths]) => paths.test(path))?.[0] ?? ''

/** The document of some routes. */
export function openApi(routes: readonly Endpoint[]): Json {
  const components = createComponents(NAMED_SCHEMAS)
  const paths: Record<string, Record<string, Json>> = {}
  for (const ingestion of INGESTION) paths[ingestion.path] = { post: ingestionOperation(ingestion, components) }
  for (const endpoint of routes) {
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = operation(endpoint, components)
  }
  const used = new Set(Object.keys(paths).map(tagOf))
  return {
    openapi: '3.1.0',
    info: {
      title: 'parley',
      version: CONTRACT_VERSION,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      description:
        'Conversations, events, figures and failures of AI agents: what is sent, and the dashboard API, one organization a request.',
    },
    servers: [{ url: '/', description: 'The REST interface: PARLEY_PORT.' }],
    tags: TAGS.filter(([name]) => used.has(name)).map(([name, , description]) => ({ name, description })),
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA, ...components.schemas },
      responses: failureResponses([...routes.flatMap(codesOf), ...INGESTION.flatMap(({ codes }) => codes)]),
      parameters: { Organization: ORGANIZATION },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        organization: { type: 'apiKey', in: 'header', name: 'x-org-id' },
        collectorOrganization: { type: 'apiKey', in: 'header', name: 'X-Service-Org-ID' },
      },
    },
  }
}

/** `POST /dashboard/api/raw-logs/count` -> `postRawLogsCount` */
function operationId({ method, path }: Endpoint): string {
  const words = path.replace('/dashboard/api/', '').split(/[^A-Za-z0-9]+/)
  return method.toLowerCase() + words.map(upperFirst).join('')
}

const upperFirst = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

function operation(endpoint: Endpoint, components: Components): Json {
  const ofBody = endpoint.request !== undefined && endpoint.method !== 'GET'
  const open = endpoint.auth === 'address' || endpoint.auth === 'signed'
  const chooses = !open && accessOf(endpoint).organization === 'chosen'
  const parameters = [
    ...pathParameters(endpoint.path),
    ...(open ? [] : queryParameters(endpoint, components)),
    ...(chooses ? [{ $ref: '#/components/parameters/Organization' }] : []),
  ]
  return {
    operationId: operationId(endpoint),
    tags: [tagOf(endpoint.path)],
    summary: endpoint.about,
    security: SECURITY[endpoint.auth],
    parameters,
    ...(ofBody ? { requestBody: requestBody(endpoint, components) } : {}),
    responses: { ...success(endpoint, components), ...failures(codesOf(endpoint)) },
    'x-codes': answered(codesOf(endpoint)),
  }
}

/** Every 2xx of these carries a receipt. */
function ingestionOperation(ingestion: IngestionPath, components: Components): Json {
  const { path, operationId, about, security, takes, answers, codes, servers } = ingestion
  const name = upperFirst(operationId)
  const content = Object.entries(takes).map(([type, schema]) => {
    const isNamed = Object.hasOwn(schema, 'properties') || Object.hasOwn(schema, 'anyOf')
    return [type, { schema: components.of(schema, 'asked', isNamed ? `${name}Request` : undefined) }]
  })
  return {
    operationId,
    tags: [tagOf(path)],
    summary: about,
    security,
    ...(servers === undefined ? {} : { servers }),
    requestBody: { required: true, content: Object.fromEntries(content) },
    responses: {
      200: {
        description: 'It is stored in the streams.',
        headers: {
          'X-Parley-Receipt': {
            description: 'Where it lies: `GET /dashboard/api/receipts/{receipt}` says what becomes of it.',
            schema: { type: 'string' },
          },
        },
        content: { 'application/json': { schema: components.of(answers, 'told', `${name}Response`) } },
      },
      ...failures(codes),
    },
    'x-codes': answered(codes),
  }
}

/** Credentials of which one is needed. */
const SECURITY: Readonly<Record<Endpoint['auth'], readonly Json[]>> = {
  any: [{ bearer: [] }, { apiKey: [] }],
  bearer: [{ bearer: [] }],
  address: [],
  signed: [],
  none: [],
}

const ORGANIZATION: Json = {
  name: 'x-org-id',
  in: 'header',
  description: 'The organization, where the credential opens several.',
  schema: { type: 'string', format: 'uuid' },
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema:
      name === 'id' || name === 'member_id' || name === 'invitation_id'
        ? { type: 'string', format: 'uuid' }
        : { type: 'string' },
  }))
}

function queryParameters(endpoint: Endpoint, components: Components): Json[] {
  if (endpoint.method !== 'GET' || endpoint.request === undefined) return []
  const { properties, required = [] } = endpoint.request as unknown as {
    properties: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name) && !Object.hasOwn(schema, 'default'),
    schema: components.of(schema, 'asked'),
  }))
}

/** A body may be absent where every field has a default. */
function requestBody(endpoint: Endpoint, components: Components): Json {
  const schema = endpoint.request as NonNullable<Endpoint['request']>
  let required = false
  try {
    createChecker(schema).read({})
  } catch {
    required = true
  }
  const named = components.of(schema, 'asked', `${upperFirst(operationId(endpoint))}Request`)
  return { required, content: { 'application/json': { schema: named } } }
}

function success(endpoint: Endpoint, components: Components): Json {
  const status = String(endpoint.status ?? 200)
  if (status === '204') return { [status]: { description: 'Done.' } }
  if (status === '302') return { [status]: { description: endpoint.about } }
  const type = endpoint.produces ?? 'application/json'
  const name = endpoint.produces === undefined ? `${upperFirst(operationId(endpoint))}Response` : undefined
  const schema = components.of(endpoint.response, 'told', name)
  return { [status]: { description: 'The answer.', content: { [type]: { schema } } } }
}

/** What an operation may answer else; the codes stand in its `x-codes`. */
function failures(codes: readonly ErrorCode[]): Json {
  const statuses = new Set(answered(codes).map(code => errors[code].status))
  return Object.fromEntries([...statuses].map(status => [status, { $ref: `#/components/responses/Error${status}` }]))
}

const answered = (codes: readonly ErrorCode[]): ErrorCode[] => codes.filter(code => errors[code].status > 0)

/** One for each status that one of these codes has. */
function failureResponses(codes: readonly ErrorCode[]): Json {
  const statuses = [...new Set(answered(codes).map(code => errors[code].status))].sort((a, b) => a - b)
  return Object.fromEntries(
    statuses.map(status => [
      `Error${status}`,
      {
        description: `${STATUS_CODES[status]}. Which codes it may be stands in the operation's x-codes.`,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}
