// Names under which credentials travel in telemetry, and the masking of their values before anything is stored.
// The lists are data: an operator's own names (PARLEY_SECRET_KEYS) are added to them when a process or thread starts.
import { digitsOf, isObject, readExactJsonText, UNWRITABLE } from '#proto/json.ts'

/** What stands in the place of a secret. */
export const MASK = '[masked]'

/** Names that are secrets wherever they stand. Lower case, words joined by '-'. */
const secretNames = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'cookies', 'set-cookie', 'bearer', 'x-auth'],
  ...['api-key', 'apikey', 'x-api-key', 'x-apikey', 'x-goog-api-key', 'openai-api-key', 'anthropic-api-key'],
  ...['access-token', 'refresh-token', 'id-token', 'auth-token', 'session-token', 'bearer-token', 'csrf-token'],
  ...['x-auth-token', 'x-access-token', 'x-csrf-token', 'x-xsrf-token', 'x-amz-security-token', 'x-vault-token'],
  ...['client-secret', 'secret-key', 'secret-access-key', 'private-key', 'signing-key', 'password', 'passwd', 'pwd'],
  ...['secret', 'webhook-secret', 'credentials', 'passphrase', 'api-token', 'access-key', 'access-key-id', 'jwt'],
  // The organization id is the credential of the ingestion endpoints.
  ...['x-org-id', 'x-service-org-id'],
])

/** Ends of names that are secrets among headers, where no counter or setting is called "…-token". */
const secretHeaderEnds = ['token', 'secret', 'password', 'key', 'auth', 'signature', 'credential', 'credentials', 'jwt']

/** Names of objects that hold headers. */
const headerHolders: ReadonlySet<string> = new Set([
  'headers',
  'header',
  'request-headers',
  'response-headers',
  'cookies',
])

/** A value that says itself that it is a credential: a header's, a token in three parts, keys of well-known makers. */
const SECRET_VALUE =
  /^(?:(?:bearer|basic|digest)\s+[\w.~+/=-]{8,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|(?:sk|rk|pk)-[\w-]{24,}|gh[pousr]_\w{30,}|xox[abprs]-[\w-]{20,}|AKIA[0-9A-Z]{16})$/i
/** Longest value that can be one: longer ones are not tried. */
const SECRET_UNITS = 8192

/** Something in a text that could make masking it worthwhile: parsing every JSON value would cost more than all the rest. `-` is `_`, too. */
export const suspicionWords = [
  'auth',
  'cookie',
  'key',
  'token',
  'secret',
  'passw',
  'pwd',
  'bearer',
  'org-id',
  'credential',
  'signature',
  'jwt',
]
let suspicious = suspicionOf(suspicionWords)

/** Names of secrets in the query of an address. Signatures of presigned addresses stay: without them a recording cannot be played. */
export const secretQueryNames: readonly string[] = [
  ...['api-key', 'apikey', 'access-token', 'refresh-token', 'auth-token', 'client-secret', 'password'],
]
const SECRET_QUERY = new RegExp(`([?&](?:${secretQueryNames.join('|').replaceAll('-', '[_-]')})=)[^&#\\s"']+`, 'gi')

/** Units of a key that are looked at: its end says what it is. */
const KEY_UNITS = 256
/** Deepest level that is looked into. */
const MAX_LEVELS = 64

/** Judgements about keys: they come from a small vocabulary. */
const judged = new Map<string, boolean>()
const JUDGED = 8192
let version = 0

/** Adds names whose values are masked from now on, in this thread: whole keys, or their last part. `-` and `_` are the same. */
export function maskAlso(names: readonly string[]): void {
  for (const name of names) {
    secretNames.add(plain(name))
    suspicionWords.push(name)
  }
  suspicious = suspicionOf(suspicionWords)
  judged.clear()
  version++
}

/** Changes whenever names are added: what was judged before may be judged differently. */
export const secretsVersion = (): number => version

function suspicionOf(words: readonly string[]): RegExp {
  return new RegExp(words.map(word => word.replace(/[^\w\s-]/g, '\\$&').replace(/[-_]/g, '[-_]')).join('|'), 'i')
}

/** How every value begins that SECRET_VALUE takes, in lower case. */
export const secretOpenings: readonly string[] = [
  ...['bearer', 'basic', 'digest', 'eyj', 'sk-', 'rk-', 'pk-', 'gho_', 'ghp_', 'ghu_', 'ghs_', 'ghr_', 'xox', 'akia'],
]

/** The first two characters of these. */
export const secretBeginnings: readonly string[] = [...new Set(secretOpenings.map(opening => opening.slice(0, 2)))]

/** True when the value under this key must not be stored. A dotted key is judged whole, by its last part and by what holds it. */
export function isSecretName(key: string): boolean {
  const known = judged.get(key)
  if (known !== undefined) return known
  const secret = judge(key)
  if (judged.size >= JUDGED) judged.clear()
  if (key.length <= KEY_UNITS) judged.set(key, secret)
  return secret
}

function judge(key: string): boolean {
  const whole = plain(key.slice(-KEY_UNITS))
  const parts = whole.split('.')
  const last = parts.at(-1) as string
  if (secretNames.has(last) || secretNames.has(whole)) return true
  return parts.slice(0, -1).some(part => headerHolders.has(part)) && isSecretHeader(last)
}

function plain(name: string): string {
  return name.trim().toLowerCase().replaceAll('_', '-')
}

/** A text with every secret inside it masked: the text itself, or JSON that holds some. */
export function maskText(text: string): string {
  if (text.length <= SECRET_UNITS && SECRET_VALUE.test(text)) return MASK
  if (!suspicious.test(text)) return text
  const parsed = /^\s*[[{]/.test(text) ? readExactJsonText(text) : undefined
  if (parsed === undefined) return text.includes('=') ? text.replace(SECRET_QUERY, `$1${MASK}`) : text
  const masked = maskValue(parsed, false, 0)
  // Unchanged text stays as it was sent, to the byte.
  return masked === parsed ? text : JSON.stringify(masked)
}

/** A value with every secret inside it masked; the very same value when there is none. */
export function maskValue(value: unknown, amongHeaders: boolean, level: number): unknown {
  if (typeof value === 'string') return maskText(value)
  if (typeof value !== 'object' || value === null || digitsOf(value) !== null) return value
  if (level >= MAX_LEVELS) return UNWRITABLE
  return Array.isArray(value) ? maskArray(value, amongHeaders, level) : maskObject(value, amongHeaders, level)
}

function isSecretHeader(name: string): boolean {
  return secretHeaderEnds.some(end => name === end || name.endsWith(`-${end}`) || name.endsWith(`_${end}`))
}

/** The same of a key in an object that may hold headers, and of the name of a header. */
export function isSecretKey(key: string, amongHeaders: boolean): boolean {
  return isSecretName(key) || (amongHeaders && isSecretHeader(plain(key.slice(-KEY_UNITS))))
}

/** True for the name of what holds headers. */
export const isHeaderHolder = (key: string): boolean => headerHolders.has(plain(key))

function maskObject(object: object, amongHeaders: boolean, level: number): unknown {
  const entries = Object.entries(object)
  // {name: "authorization", value: "…"}: a list of headers as objects.
  const named = isObject(object) ? (object.name ?? object.key) : undefined
  const pair = typeof named === 'string' && isSecretKey(named, true)
  let changed = false
  const masked = entries.map(([key, inner]): [string, unknown] => {
    const secret = inner !== null && inner !== '' && (isSecretKey(key, amongHeaders) || (pair && key === 'value'))
    const holder = amongHeaders || isHeaderHolder(key)
    const after = secret ? MASK : maskValue(inner, holder, level + 1)
    if (after !== inner) changed = true
    return [key, after]
  })
  return changed ? fromEntries(masked) : object
}

function maskArray(array: readonly unknown[], amongHeaders: boolean, level: number): unknown {
  // ["authorization", "…"]: a header as a pair, or node's flat list of names and values.
  const flat = amongHeaders && array.length % 2 === 0 && array.every(entry => typeof entry === 'string')
  let changed = false
  const masked = array.map((inner, i) => {
    const secret = flat && i % 2 === 1 && isSecretKey(array[i - 1] as string, true)
    const after = secret ? MASK : maskValue(inner, amongHeaders, level + 1)
    if (after !== inner) changed = true
    return after
  })
  return changed ? masked : array
}

/** Like Object.fromEntries, for keys such as `__proto__` too. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const [key, value] of entries) object[key] = value
  return object
}
