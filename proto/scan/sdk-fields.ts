// The fields of the SDK bodies as the scanner sees them, and how what it saw of them becomes the sentence of a refusal. The schemas
// of proto/sdk/ are the definition; a differential test holds both together, word by word.
import type { EventShape } from '#proto/sdk/capture-event.ts'
import { ID_MAX_LENGTH, type IdPolicy } from '#proto/sdk/fields.ts'

/** What was seen of a field. `word`: a primitive_type that is a text, but none of the three. */
export const Seen = { nothing: 0, null: 1, empty: 2, good: 3, bad: 4, word: 5 } as const
export type Seen = (typeof Seen)[keyof typeof Seen]

/** How a field's value is judged. */
export const Reading = {
  sessionId: 0,
  eventId: 1,
  reference: 2,
  text: 3,
  time: 4,
  amount: 5,
  number: 6,
  flag: 7,
  map: 8,
  primitiveType: 9,
  checkpoints: 10,
  texts: 11,
  userData: 12,
} as const
export type Reading = (typeof Reading)[keyof typeof Reading]

/** A field: when it must be there, and the words that finish "<name> must be …" ('' = those of an id). */
export interface Field {
  readonly name: string
  readonly reading: Reading
  readonly required: 'always' | 'conversation' | 'server-primitive' | 'never'
  readonly expected: string
}

const field = (name: string, reading: Reading, expected: string, required: Field['required'] = 'never'): Field => ({
  name,
  reading,
  expected,
  required,
})
const time = field('timestamp', Reading.time, 'an integer: Unix time in milliseconds')
const metadata = field('metadata', Reading.map, 'an object')

/** In the order in which the schema names them: the first that is wrong is told. */
export const EVENT_FIELDS: readonly Field[] = [
  field('event_id', Reading.eventId, '', 'conversation'),
  field('session_id', Reading.sessionId, '', 'always'),
  field('primitive_name', Reading.text, 'a string', 'always'),
  field('args', Reading.text, 'a string'),
  field('result', Reading.text, 'a string'),
  time,
  field('parent_id', Reading.reference, ''),
  metadata,
  field('checkpoints', Reading.checkpoints, 'an array of checkpoints'),
  field('primitive_type', Reading.primitiveType, 'one of tool, resource, prompt', 'server-primitive'),
  field('success', Reading.flag, 'true or false', 'server-primitive'),
  field('latency', Reading.amount, 'a number of milliseconds, 0 or more', 'server-primitive'),
]
export const SESSION_FIELDS: readonly Field[] = [
  field('session_id', Reading.sessionId, '', 'always'),
  field('user_data', Reading.userData, 'an object'),
  field('client_config', Reading.text, 'a string'),
  metadata,
  time,
  field('connection_type', Reading.text, 'a string'),
  field('ip', Reading.text, 'a string'),
  field('tools', Reading.texts, 'an array of strings'),
]
export const CHECKPOINT_FIELDS: readonly Field[] = [
  field('name', Reading.text, 'a string', 'always'),
  field('timestamp', Reading.number, 'a number', 'always'),
  metadata,
]

/** What a scan saw of the fields of one object: a state and the position of the value, at the index of the field. */
export class Sight {
  readonly fields: readonly Field[]
  readonly readings: Uint8Array
  readonly seen: Uint8Array
  readonly at: Int32Array
  /** Position of the closing bracket: where a missing field is missed. */
  end = 0
  /** Per shape and field: a bit for each state that is all right. */
  readonly #right: { readonly [shape in EventShape]: Uint8Array }

  constructor(fields: readonly Field[]) {
    this.fields = fields
    this.readings = Uint8Array.from(fields, of => of.reading)
    this.seen = new Uint8Array(fields.length)
    this.at = new Int32Array(fields.length)
    this.#right = {
      conversation: Uint8Array.from(fields, of => rightStates(of, 'conversation')),
      'server-primitive': Uint8Array.from(fields, of => rightStates(of, 'server-primitive')),
    }
  }

  clear(): void {
    const { seen } = this
    for (let i = 0; i < seen.length; i++) seen[i] = Seen.nothing
  }

  /** True when no field refuses the object; `shape` chooses which fields are required. */
  isRight(shape: EventShape): boolean {
    const { seen } = this
    const right = this.#right[shape]
    let all = 1
    for (let i = 0; i < seen.length; i++) all &= (right[i] as number) >> (seen[i] as number)
    return all === 1
  }

  /** The field that refuses the object, told first: one that is missing, else one that is wrong. */
  firstWrong(shape: EventShape): Field | undefined {
    const isWrong = (of: Field, i: number): boolean => ((rightStates(of, shape) >> (this.seen[i] as number)) & 1) === 0
    const missing = this.fields.find((of, i) => this.seen[i] === Seen.nothing && isWrong(of, i))
    return missing ?? this.fields.find(isWrong)
  }
}

/** A bit for each state in which a field is all right. null and, where it is told apart, "" count as left out. */
function rightStates(of: Field, shape: EventShape): number {
  const isRequired = of.required === 'always' || of.required === shape
  return isRequired ? 1 << Seen.good : (1 << Seen.good) | (1 << Seen.nothing) | (1 << Seen.null) | (1 << Seen.empty)
}

/** The words that finish "<field> must be …". */
export function expectedOf(of: Field, ids: IdPolicy): string {
  if (of.expected !== '') return of.expected
  return ids === 'strict' ? 'a uuid' : `a text of 1 to ${ID_MAX_LENGTH} characters`
}
