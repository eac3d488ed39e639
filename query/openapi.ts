// The table of routes -> an OpenAPI 3.1 document: what the code checks is what the document says.
import type { TSchema } from 'typebox'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import { accessOf } from './access.ts'
import type { Endpoint } from './endpoint.ts'
import { codesOf } from './endpoint.ts'
import { createChecker } from './validate.ts'

/** A JSON value of the document. */
type Json = { readonly [key: string]: unknown }

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

/** The document of some routes. */
export function openApi(routes: readonly Endpoint[]): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of routes) {
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = operation(endpoint)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'parley',
      version: CONTRACT_VERSION,
      description:
        'The dashboard API: conversations, events, figures and failures of AI agents, one organization a request.',
    },
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  }
}

/** `POST /dashboard/api/raw-logs/count` -> `postRawLogsCount` */
function operationId({ method, path }: Endpoint): string {
  const words = path.replace('/dashboard/api/', '').split(/[^A-Za-z0-9]+/)
  return method.toLowerCase() + words.map(word => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
}

function operation(endpoint: Endpoint): Json {
  const ofBody = endpoint.request !== undefined && endpoint.method !== 'GET'
  const open = endpoint.auth === 'address' || endpoint.auth === 'signed'
  const chooses = !open && accessOf(endpoint).organization === 'chosen'
  const parameters = [
    ...pathParameters(endpoint.path),
    ...(open ? [] : queryParameters(endpoint)),
    ...(chooses ? [ORGANIZATION] : []),
  ]
  return {
    operationId: operationId(endpoint),
    summary: endpoint.about,
    security: SECURITY[endpoint.auth],
    parameters,
    ...(ofBody ? { requestBody: requestBody(endpoint.request as TSchema) } : {}),
    responses: { ...success(endpoint), ...failures(codesOf(endpoint)) },
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

function queryParameters(endpoint: Endpoint): Json[] {
  if (endpoint.method !== 'GET' || endpoint.request === undefined) return []
  const { properties, required = [] } = endpoint.request as unknown as { properties: Json; required?: string[] }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

/** A body may be absent where every field has a default. */
function requestBody(schema: TSchema): Json {
  let required = false
  try {
    createChecker(schema).read({})
  } catch {
    required = true
  }
  return { required, content: { 'application/json': { schema } } }
}

function success(endpoint: Endpoint): Json {
  const status = String(endpoint.status ?? 200)
  if (status === '204') return { [status]: { description: 'Done.' } }
  if (status === '302') return { [status]: { description: endpoint.about } }
  const type = endpoint.produces ?? 'application/json'
  return { [status]: { description: endpoint.about, content: { [type]: { schema: endpoint.response } } } }
}

function failures(codes: readonly ErrorCode[]): Json {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes) {
    const { status } = errors[code]
    if (status > 0) byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const responses = [...byStatus].map(([status, of]) => [
    String(status),
    {
      description: [...new Set(of.map(code => errors[code].text))].join('; '),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      'x-codes': of,
    },
  ])
  return Object.fromEntries(responses) as Json
}
