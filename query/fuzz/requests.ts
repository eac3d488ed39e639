// Chances -> requests to the dashboard API that are well formed, nearly well formed, or nothing of the kind. The same seed makes the
// same requests, as far as answers that they build on are the same.
import type { TSchema } from 'typebox'
import type { Endpoint } from '../endpoint.ts'
import type { Dice } from '../fixture-random.ts'

/** One request. */
export interface FuzzRequest {
  readonly route: Endpoint
  readonly method: string
  /** Path and query string, as they go on the wire. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** What requests are made of. */
export interface FuzzWorld {
  /** Credentials that are good, as headers. */
  readonly credentials: readonly Readonly<Record<string, string>>[]
  /** Organizations, ours and others. */
  readonly organizations: readonly string[]
  /** Ids and values that mean something in the store; answers add ids to it. */
  readonly values: string[]
  /** Cursors that answers gave. */
  readonly cursors: string[]
  /** Tickets of downloads that answers gave. */
  readonly tickets: string[]
}

/** Words that have broken somebody's service before. */
const HOSTILE = [
  '',
  ' ',
  "'",
  "' OR 1=1 --",
  '\\',
  '"; DROP TABLE events; --',
  '{organization:UUID}',
  '${7*7}',
  '%',
  '_%\\_',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\u202e',
  'ﬃ',
  '../../etc/passwd',
  'NaN',
  '-0',
  '1e309',
  '__proto__',
  'constructor',
  '1970-01-01',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '2026-02-30',
  '2026-06-15T11:58:00+14:00',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Not/AZone',
  'x'.repeat(5000),
  '€'.repeat(1500),
]
const NUMBERS = [0, 1, -1, 2, 20, 200, 0.5, 1e21, 2 ** 31 - 1, 2 ** 31, 2 ** 53, -(2 ** 63), Number.MAX_VALUE]
const WRONG: readonly unknown[] = [null, true, false, 7, -1.5, '', 'x', [], {}, [[]], [null], { a: { b: {} } }]
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH']
const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  [
    'content-type',
    ['application/json', 'text/plain', 'application/x-protobuf', 'multipart/form-data', ';;', 'a'.repeat(500)],
  ],
  ['content-encoding', ['gzip', 'br', 'identity', 'x']],
  ['accept', ['*/*', 'text/csv', 'q=1;;']],
  ['accept-encoding', ['gzip', 'identity;q=0', '*']],
  ['x-request-id', ['ok-1', 'x'.repeat(300), '<script>', '%00']],
  ['x-forwarded-for', ['10.0.0.1', ', ,', 'x'.repeat(1000), '::1, 203.0.113.9']],
  ['origin', ['https://evil.example', 'null', 'http://localhost:8080', ':']],
  ['sec-fetch-site', ['cross-site', 'same-origin', 'x']],
  ['cookie', ['parley_session=x', 'parley_session=; parley_login=a.b.c.d.e', '=;=;=', 'x'.repeat(3000)]],
  ['range', ['bytes=0-1', 'bytes=-1']],
  ['if-none-match', ['*', '"x"']],
  ['expect', ['200-ok']],
  ['last-event-id', ['1', '-1', '99999999999999999999']],
]
/** What a depth of objects ends with. */
const DEPTH_MAX = 6

/** Makes one request of a route. */
export function fuzzRequest(route: Endpoint, world: FuzzWorld, dice: Dice): FuzzRequest {
  const { random, pick, below } = dice
  const wild = random()
  const value = route.request === undefined ? undefined : valueOf(route.request, world, dice, 0)
  // Half of all requests mean what they say; the others are wrong in one way or in several.
  const asked = wild < 0.5 ? value : mutated(value, dice)
  const method = wild > 0.97 ? pick(METHODS) : route.method
  const reads = route.method === 'GET'
  const query =
    reads && asked !== undefined ? queryOf(asked) : random() < 0.05 ? `?${pick(HOSTILE.filter(isWire))}` : ''
  const path = pathOf(route, world, dice) + query
  const headers: Record<string, string> = { ...(random() < 0.9 ? pick(world.credentials) : credential(world, dice)) }
  if (random() < 0.3)
    headers['x-org-id'] = pick([...world.organizations, 'x', '', world.organizations[0]?.toUpperCase() ?? ''])
  for (let n = random() < 0.3 ? 1 + below(3) : 0; n > 0; n--) {
    const [name, values] = pick(HEADERS)
    headers[name] = pick(values)
  }
  const takesBody = !reads && method !== 'HEAD' && (asked !== undefined || random() < 0.1)
  return { route, method, path, headers, body: takesBody ? bodyOf(asked, dice) : undefined }
}

/** True for what an HTTP client puts on the wire as it is. */
const isWire = (text: string): boolean => /^[\x21-\x7e]*$/.test(text) && text.length < 2000

function credential(world: FuzzWorld, { pick, below }: Dice): Record<string, string> {
  const [name = 'x-api-key', secret = ''] = Object.entries(pick(world.credentials))[0] ?? []
  const at = below(secret.length)
  const broken = secret.slice(0, at) + pick(['', 'x', 'A', '.', secret]) + secret.slice(at + 1)
  return pick([
    {},
    { [name]: broken },
    { authorization: 'Bearer' },
    { authorization: 'Basic eDp5' },
    { 'x-api-key': 'parley_' },
  ])
}

function pathOf(route: Endpoint, world: FuzzWorld, { random, pick }: Dice): string {
  const organization = route.organization === 'path'
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const meant = name === 'ticket' ? world.tickets : name === 'id' && organization ? world.organizations : world.values
    const value = random() < 0.8 && meant.length > 0 ? pick(meant) : pick(HOSTILE)
    return encodeURIComponent(value.toWellFormed()) || '%20'
  })
  if (random() < 0.97) return filled
  return pick([
    `${filled}/`,
    `/${filled}`,
    filled.toUpperCase(),
    `${filled}%`,
    `${filled}%00`,
    filled.slice(0, -1),
    `${filled};a=b`,
  ])
}

function queryOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '?=&&=%'
  const query = new URLSearchParams()
  for (const [name, field] of Object.entries(value)) {
    const text = typeof field === 'string' ? field : JSON.stringify(field)
    if (text !== undefined) query.append(name, text.toWellFormed())
  }
  return `?${query.toString()}`
}

/** A value of a schema: every property that it demands, and some of the others. */
function valueOf(schema: TSchema, world: FuzzWorld, dice: Dice, depth: number): unknown {
  const { random, pick, below } = dice
  const {
    type,
    anyOf,
    enum: words,
    const: constant,
    items,
    properties,
    required,
    pattern,
    format,
    minimum,
  } = schema as Shape
  if (constant !== undefined) return constant
  if (words !== undefined) return pick(words)
  if (anyOf !== undefined) return valueOf(pick(anyOf), world, dice, depth)
  if (type === 'object') {
    const fields = Object.entries(properties ?? {}).filter(
      ([name]) => required?.includes(name) === true || random() < 0.4,
    )
    if (properties === undefined) return { [pick(world.values)]: pick(world.values) }
    const cursor = (name: string): boolean => name === 'cursor' && world.cursors.length > 0
    return Object.fromEntries(
      fields.map(([name, field]) => [
        name,
        cursor(name) ? pick(world.cursors) : valueOf(field, world, dice, depth + 1),
      ]),
    )
  }
  if (type === 'array') {
    const count = depth > DEPTH_MAX ? 0 : below(3)
    return Array.from({ length: count }, () => (items === undefined ? 'x' : valueOf(items, world, dice, depth + 1)))
  }
  if (type === 'boolean') return random() < 0.5
  if (type === 'integer' || type === 'number') return random() < 0.8 ? (minimum ?? 0) + below(20) : pick(NUMBERS)
  if (type === 'null') return null
  if (format === 'uuid') return pick([...world.values.filter(isUuidLike), ...world.organizations])
  if (pattern?.startsWith('^\\d{4}') === true) return pick(TIMES)
  return random() < 0.75 ? pick(world.values) : pick(HOSTILE)
}

interface Shape {
  readonly type?: string
  readonly anyOf?: readonly TSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
}

const TIMES = [
  '2026-06-15',
  '2026-06-01T00:00',
  '2026-06-15T11:58:00Z',
  '2026-05-26T10:00:00.5+05:45',
  '2200-01-01',
  '1900-01-01',
]
const isUuidLike = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text)

/** One to three places of a value made wrong. */
function mutated(value: unknown, dice: Dice): unknown {
  let result = value
  for (let n = 1 + dice.below(3); n > 0; n--) result = wronged(result, dice)
  return result
}

function wronged(value: unknown, dice: Dice): unknown {
  const { random, pick } = dice
  if (typeof value !== 'object' || value === null || random() < 0.15)
    return random() < 0.5 ? pick(WRONG) : pick(HOSTILE)
  if (Array.isArray(value)) {
    return random() < 0.2 ? Array.from({ length: 1100 }, () => value[0] ?? 'x') : value.map(item => wronged(item, dice))
  }
  const names = Object.keys(value)
  if (names.length === 0 || random() < 0.1) return { ...value, [pick(HOSTILE)]: pick(WRONG) }
  const name = pick(names)
  const { [name]: field, ...others } = value as Record<string, unknown>
  return random() < 0.25 ? others : { ...others, [name]: wronged(field, dice) }
}

function bodyOf(value: unknown, { random, below, pick }: Dice): Buffer {
  const bytes = Buffer.from(JSON.stringify(value ?? null))
  if (random() < 0.85) return bytes
  const kind = below(5)
  if (kind === 0) return bytes.subarray(0, below(bytes.length + 1))
  if (kind === 1) return Buffer.from(`${'['.repeat(2000)}${']'.repeat(random() < 0.5 ? 2000 : 0)}`)
  if (kind === 2) return Buffer.concat([bytes, Buffer.alloc(70_000, ' ')])
  const at = below(bytes.length)
  bytes[at] = kind === 3 ? below(256) : (pick([0x22, 0x5c, 0x7b, 0x2c, 0]) ?? 0)
  return bytes
}
