// JSON -> a value of a schema with its defaults filled in, or an error that names the field at fault in dot notation.
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { ParleyError } from '#proto/errors.ts'

/** What is wrong with a value: where, and what was expected. */
interface Fault {
  readonly field: string
  readonly expected: string
}

/** A compiled schema. */
export interface Checker<T> {
  /**
   * The value with defaults filled in; unknown fields stay and are nobody's business. Null in a field that may be absent is absence,
   * unless null means something there.
   * @throws ParleyError REQ_BODY_INVALID with the field.
   */
  readonly read: (value: unknown) => T
  /** The first fault, or null. */
  readonly fault: (value: unknown) => Fault | null
}

type ErrorLike = ReturnType<ReturnType<typeof Compile>['Errors']>[number]

/** Compiles a schema once; checks cost microseconds then. */
export function createChecker<S extends TSchema>(schema: S): Checker<Static<S>> {
  const validator = Compile(schema)
  const withoutNulls = droppingNulls(schema)
  const fault = (value: unknown): Fault | null => {
    if (validator.Check(value)) return null
    const errors = validator.Errors(value)
    // A choice of types reports the fault of every branch; the sentence for the whole choice says more.
    const choice = errors.find(error => error.keyword === 'anyOf')
    const error = choice ?? errors[0]
    if (error === undefined) throw new ParleyError('BUG', 'a value fails its schema without an error')
    return describe(schema, error)
  }
  return {
    fault,
    read: value => {
      const filled = validator.Default(withoutNulls(value))
      const found = fault(filled)
      if (found === null) return filled as Static<S>
      const { field, expected } = found
      throw new ParleyError(
        'REQ_BODY_INVALID',
        field === '' ? expected : `${field} ${expected}`,
        field === '' ? {} : { field },
      )
    },
  }
}

/** What of a JSON schema says which nulls stand for nothing. */
interface Shape {
  readonly properties?: Readonly<Record<string, Shape & TSchema>>
  readonly required?: readonly string[]
  readonly items?: Shape & TSchema
}

/** A copy of a value without the nulls that clients write for "not set"; null in a required field stays, to be refused. */
function droppingNulls(schema: Shape): (value: unknown) => unknown {
  const { properties = {}, required = [], items } = schema
  const ofItems = items && droppingNulls(items)
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = 'default' in field || !required.includes(name)
    return { name, droppable: optional && !Value.Check(field, null), inner: droppingNulls(field) }
  })
  return value => {
    if (Array.isArray(value)) return ofItems === undefined ? value : value.map(ofItems)
    if (fields.length === 0 || typeof value !== 'object' || value === null) return value
    const copy: Record<string, unknown> = { ...value }
    for (const { name, droppable, inner } of fields) {
      if (!Object.hasOwn(copy, name)) continue
      if (droppable && copy[name] === null) delete copy[name]
      else copy[name] = inner(copy[name])
    }
    return copy
  }
}

function describe(schema: TSchema, error: ErrorLike): Fault {
  const field = dotted(error.instancePath)
  switch (error.keyword) {
    case 'required': {
      const missing = error.params.requiredProperties[0] ?? ''
      return { field: field === '' ? missing : `${field}.${missing}`, expected: 'is required' }
    }
    case 'enum': {
      const allowed = error.params.allowedValues.map(value => JSON.stringify(value))
      return { field, expected: `must be one of ${allowed.join(', ')}` }
    }
    case 'anyOf':
      return { field, expected: `must be ${wordsAt(schema, error.schemaPath) ?? 'of another type'}` }
    case 'format':
      return {
        field,
        expected: `must be ${error.params.format === 'email' ? 'an e-mail address' : `a ${error.params.format}`}`,
      }
    case 'pattern': {
      // People read the schema's words; the pattern itself is for programs.
      const words = wordsAt(schema, error.schemaPath)
      return { field, expected: words === undefined ? error.message : `must be ${words}` }
    }
    case 'minLength':
      return { field, expected: error.params.limit === 1 ? 'must not be empty' : error.message }
    case 'type':
      return { field, expected: `must be of type ${String(error.params.type)}` }
    default:
      return { field, expected: error.message }
  }
}

/** `/metadata_filters/0/key` -> `metadata_filters.0.key` */
function dotted(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The words that a schema carries for what it takes. */
function wordsAt(schema: TSchema, path: string): string | undefined {
  let at: unknown = schema
  for (const part of path.split('/').slice(1)) at = (at as Record<string, unknown> | undefined)?.[part]
  return (at as { expected?: string } | undefined)?.expected
}
