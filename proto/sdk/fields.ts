// The building blocks of the SDK bodies: how an id, a time or a free-form map is declared, and how a failed check becomes one
// sentence that names the field.
import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'

/** `strict`: ids are uuids, as the contract says. `map`: any text; what is no uuid is mapped to one (proto/ids.ts). */
export type IdPolicy = 'strict' | 'map'

/** Longest id that is mapped, in code points, as JSON Schema counts: an id is a key, not a document. */
export const ID_MAX_LENGTH = 1024
/** Deepest nesting of arrays and objects that a body may have. */
export const JSON_MAX_DEPTH = 64

// The nil uuid means "none" wherever ids are stored (proto/ids.ts): nothing may be called that.
const NOT_NIL = '(?!0{8}-0{4}-0{4}-0{4}-0{12}$)'
const UUID_PATTERN = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
const ANY_ID = `a text of 1 to ${ID_MAX_LENGTH} characters`
const INT64_MAX = 2 ** 63

/** An id that must be there. `expected` finishes the sentence "<field> must be …". */
export const idField = (ids: IdPolicy) =>
  ids === 'strict'
    ? Type.String({ pattern: `^${NOT_NIL}${UUID_PATTERN}`, expected: 'a uuid' })
    : Type.String({ pattern: `^${NOT_NIL}`, minLength: 1, maxLength: ID_MAX_LENGTH, expected: ANY_ID })

/** An id that may be left out; `""` and `null` count as left out. */
export const optionalIdField = (ids: IdPolicy) =>
  ids === 'strict'
    ? optional(Type.String({ pattern: `^$|^${NOT_NIL}${UUID_PATTERN}` }), 'a uuid')
    : optional(Type.String({ pattern: `^${NOT_NIL}`, maxLength: ID_MAX_LENGTH }), ANY_ID)

/** A reference that may be left out; `""`, `null` and the nil uuid say "none". */
export const optionalReferenceField = (ids: IdPolicy) =>
  ids === 'strict'
    ? optional(Type.String({ pattern: `^$|^${UUID_PATTERN}` }), 'a uuid')
    : optional(Type.String({ maxLength: ID_MAX_LENGTH }), ANY_ID)

export const textField = () => Type.String({ expected: 'a string' })
export const optionalText = () => optional(Type.String(), 'a string')
/** What ten digits can say: as seconds 2001 to 2286, as milliseconds some weeks of 1970. Nobody means those. */
const [SECONDS_FROM, SECONDS_BEFORE] = [1e9, 1e10]
/** Whether a time was sent in seconds where milliseconds are asked for. */
export const isSeconds = (time: number): boolean => time >= SECONDS_FROM && time < SECONDS_BEFORE

/** Unix milliseconds. */
export const optionalTime = () => {
  const early = Type.Integer({ minimum: -INT64_MAX, exclusiveMaximum: SECONDS_FROM })
  const late = Type.Integer({ minimum: SECONDS_BEFORE, exclusiveMaximum: INT64_MAX })
  return optional(Type.Union([early, late]), 'an integer: Unix time in milliseconds')
}
/** Keys to any values: what is no string is written as JSON when it is stored. */
export const mapOfAnything = () => Type.Record(Type.String(), Type.Unknown())
export const optionalMap = () => optional(mapOfAnything(), 'an object')

/** A field that may be left out or `null`. */
export function optional<T extends TSchema>(schema: T, expected: string) {
  return Type.Optional(Type.Union([schema, Type.Null()], { expected }))
}

/** One failed check: the field in dot notation ('' = the body itself) and the whole sentence. */
export interface Problem {
  readonly field: string
  readonly sentence: string
}

/** Compiles a schema into a check that returns the first problem of a value, or null. */
export function compileCheck(schema: TSchema): (value: unknown) => Problem | null {
  const validator = Compile(schema)
  return value => {
    if (validator.Check(value)) return null
    const first = validator.Errors(value)[0]
    if (first === undefined) return { field: '', sentence: 'the body does not have the expected form' }
    const path = first.instancePath.split('/').slice(1).map(unescapePointer)
    if (first.keyword === 'required') {
      const field = [...path, first.params.requiredProperties[0]].join('.')
      return { field, sentence: `${field} is required` }
    }
    const field = path.join('.')
    return { field, sentence: `${field === '' ? 'the body' : field} must be ${expectedAt(schema, path)}` }
  }
}

/** The `expected` words of the schema node at a path of an instance. */
function expectedAt(schema: TSchema, path: readonly string[]): string {
  let node: unknown = schema
  for (const key of path) node = childOf(node, key) ?? node
  const words = isObject(node) ? node.expected : undefined
  return typeof words === 'string' ? words : 'of another type'
}

function childOf(node: unknown, key: string): unknown {
  if (!isObject(node)) return undefined
  const branches = Array.isArray(node.anyOf) ? node.anyOf : []
  const fromBranches = branches.map(branch => childOf(branch, key)).find(child => child !== undefined)
  const properties = isObject(node.properties) ? node.properties : {}
  return properties[key] ?? node.items ?? fromBranches
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** True when no array or object of a parsed value stands deeper than `levels`; stops at the first that does. */
export function withinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const key in value) {
    if (!withinDepth((value as Record<string, unknown>)[key], levels - 1)) return false
  }
  return true
}
