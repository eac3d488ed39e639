// The body of POST /api/v1/capture-event: one event, in the conversation shape or, when primitive_type says something, the
// server-primitive shape. Unknown fields are allowed and kept.
import type { Static } from 'typebox'
import { Type } from 'typebox'
import type { IdPolicy, Problem } from '#proto/sdk/fields.ts'
import {
  compileCheck,
  idField,
  mapOfAnything,
  optional,
  optionalIdField,
  optionalMap,
  optionalReferenceField,
  optionalText,
  optionalTime,
  textField,
} from '#proto/sdk/fields.ts'

export const primitiveTypes = ['tool', 'resource', 'prompt'] as const
export type PrimitiveType = (typeof primitiveTypes)[number]

const isPrimitiveType = (text: string): text is PrimitiveType => primitiveTypes.some(type => type === text)
const primitiveWords = `one of ${primitiveTypes.join(', ')}`

// Zero is a legal latency; NaN and infinities cannot be written in JSON, and 1e999 is refused by the type.
const latency = () => Type.Number({ minimum: 0, expected: 'a number of milliseconds, 0 or more' })

const checkpoint = () =>
  Type.Object(
    {
      name: Type.String({ expected: 'a string' }),
      timestamp: Type.Number({ expected: 'a number' }),
      metadata: optional(mapOfAnything(), 'an object'),
    },
    { expected: 'an object' },
  )

/** Fields that both shapes have. args and result may be missing: clients leave them out when capture is off. */
const commonFields = (ids: IdPolicy) => ({
  session_id: idField(ids),
  primitive_name: textField(),
  args: optionalText(),
  result: optionalText(),
  timestamp: optionalTime(),
  parent_id: optionalReferenceField(ids),
  metadata: optionalMap(),
  checkpoints: optional(Type.Array(checkpoint()), 'an array of checkpoints'),
})

const conversationEvent = (ids: IdPolicy) =>
  Type.Object(
    {
      event_id: idField(ids),
      ...commonFields(ids),
      // "" is what one published client always sends: it counts as absent.
      primitive_type: optional(Type.Literal(''), primitiveWords),
      success: optional(Type.Boolean(), 'true or false'),
      latency: optional(latency(), 'a number of milliseconds, 0 or more'),
    },
    { expected: 'a JSON object' },
  )

const serverPrimitiveEvent = (ids: IdPolicy) =>
  Type.Object(
    {
      event_id: optionalIdField(ids),
      ...commonFields(ids),
      primitive_type: Type.Union(
        primitiveTypes.map(word => Type.Literal(word)),
        { expected: primitiveWords },
      ),
      success: Type.Boolean({ expected: 'true or false' }),
      latency: latency(),
    },
    { expected: 'a JSON object' },
  )

/** A body as the contract says it: one shape or the other. */
export const CaptureEventBody = Type.Union([conversationEvent('strict'), serverPrimitiveEvent('strict')])

/** Checked bodies. */
export type ConversationEvent = Static<ReturnType<typeof conversationEvent>>
export type ServerPrimitiveEvent = Static<ReturnType<typeof serverPrimitiveEvent>>
export type EventShape = 'conversation' | 'server-primitive'

const checks = {
  conversation: { strict: compileCheck(conversationEvent('strict')), map: compileCheck(conversationEvent('map')) },
  'server-primitive': {
    strict: compileCheck(serverPrimitiveEvent('strict')),
    map: compileCheck(serverPrimitiveEvent('map')),
  },
}

/** The shape a body means to have: a non-empty primitive_type makes it a server primitive. */
export function eventShapeOf(body: unknown): EventShape {
  const type = typeof body === 'object' && body !== null ? (body as { primitive_type?: unknown }).primitive_type : ''
  return typeof type === 'string' && type !== '' ? 'server-primitive' : 'conversation'
}

/** The first problem of a body under its shape, or null when it is a ConversationEvent or ServerPrimitiveEvent. */
export function captureEventProblem(body: unknown, shape: EventShape, ids: IdPolicy): Problem | null {
  // Told first: a misspelt type also makes other fields look missing.
  if (shape === 'server-primitive' && !isPrimitiveType((body as { primitive_type: string }).primitive_type)) {
    return { field: 'primitive_type', sentence: `primitive_type must be ${primitiveWords}` }
  }
  return checks[shape][ids](body)
}
