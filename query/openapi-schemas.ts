// Schemas as the code checks them -> schemas as a document shows them: those that have a name stand once, under components, and are
// referred to; of a request only those fields are required that have no default.
import type { TSchema } from 'typebox'

/** A JSON value of the document. */
export type Json = { readonly [key: string]: unknown }

/** What a schema is for: a field with a default may be left out of what is asked, and is always there in what is told. */
type Use = 'asked' | 'told'

/** The document's schemas. */
export interface Components {
  /** A schema of a request or an answer; `name` is its own where it has none. */
  of(schema: TSchema | Json, use: Use, name?: string): Json
  /** Those that were referred to, by name. */
  readonly schemas: Readonly<Record<string, Json>>
}

/** Shorter ones are read faster where they are used. */
const NAMED_MIN_CHARS = 60

/** `named` are schemas by the names that the code knows them by. */
export function createComponents(named: Readonly<Record<string, unknown>>): Components {
  const names = new Map<string, string>()
  for (const [name, value] of Object.entries(named)) {
    const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : ''
    if (text.length >= NAMED_MIN_CHARS && !names.has(text) && isSchema(value)) names.set(text, name)
  }
  const schemas: Record<string, Json> = {}

  const reference = (name: string, content: Json, use: Use): Json => {
    const known = schemas[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(content)) {
      return reference(name + (use === 'asked' ? 'Input' : 'Output'), content, use)
    }
    schemas[name] = content
    return { $ref: `#/components/schemas/${name}` }
  }
  const of = (schema: Json, use: Use, own?: string): Json => {
    const name = names.get(JSON.stringify(schema)) ?? own
    const content = contentOf(schema, inner => of(inner, use), use)
    return name === undefined ? content : reference(name, content, use)
  }
  return { of: (schema, use, name) => of(schema as Json, use, name), schemas }
}

const isSchema = (value: unknown): boolean =>
  ['type', 'anyOf', 'enum'].some(keyword => Object.hasOwn(value as object, keyword))

/** Keywords that hold a schema, a list of them, or some by name. */
const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not', 'contains'])
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const ANY_KEY = '^.*$'

function contentOf(schema: Json, of: (inner: Json) => Json, use: Use): Json {
  const content: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (ONE.has(keyword) && isObject(value)) content[keyword] = of(value)
    else if (LISTS.has(keyword)) content[keyword] = (value as Json[]).map(of)
    else if (keyword === 'properties') content[keyword] = mapped(value as Record<string, Json>, of)
    else if (keyword === 'patternProperties') {
      const { [ANY_KEY]: any, ...others } = value as Record<string, Json>
      if (any !== undefined) content.additionalProperties = of(any)
      if (Object.keys(others).length > 0) content[keyword] = mapped(others, of)
    } else if (keyword === 'required') {
      const required = (value as string[]).filter(name => use === 'told' || !hasDefault(schema, name))
      if (required.length > 0) content[keyword] = required
    }
    // What it takes, in the words of its error.
    else if (keyword === 'expected') content['x-expected'] = value
    else content[keyword] = value
  }
  return content
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const mapped = (schemas: Record<string, Json>, of: (inner: Json) => Json): Record<string, Json> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, of(schema)]))

const hasDefault = (schema: Json, name: string): boolean =>
  Object.hasOwn((schema.properties as Record<string, object>)[name] ?? {}, 'default')
