// The body of a capture-event request, explained: the contract names its fields, and what it has no field for stands in metadata.
import { isObject, type JsonObject, jsonText, readExactJson } from '#proto/json.ts'
import type { FrameContext } from '../outcome.ts'
import { costWords } from './cost.ts'
import type { ExplainedEvent } from './explain.ts'
import { cut, fieldsOfRow } from './explained-row.ts'
import type { ExplainedField, ExplainedPlace } from './otlp/explain.ts'
import { parseEvent } from './sdk.ts'
import { usageKeys } from './sdk-usage.ts'
import { isSecretName, MASK, maskText } from './secrets.ts'

const IN_METADATA = 'metadata.'

/** Where each field may stand, in order; a dot leads into `metadata`. */
const places: Readonly<Record<string, readonly string[]>> = {
  kind: ['primitive_type', 'metadata.event_type'],
  name: ['primitive_name'],
  session_id: ['session_id'],
  user_id: [],
  input: ['args'],
  output: ['result'],
  failed: ['success'],
  error_type: inMetadata(['error_type', 'error.type']),
  error_message: [...inMetadata(['error_message', 'error']), 'result'],
  model: inMetadata(usageKeys.model),
  provider: inMetadata(usageKeys.provider),
  input_tokens: inMetadata(usageKeys.inputTokens),
  output_tokens: inMetadata(usageKeys.outputTokens),
  cache_read_tokens: inMetadata(usageKeys.cacheReadTokens),
  cache_write_tokens: inMetadata(usageKeys.cacheWriteTokens),
  reasoning_tokens: inMetadata(usageKeys.reasoningTokens),
  cost: inMetadata(usageKeys.cost),
}

function inMetadata(keys: readonly string[]): string[] {
  return keys.map(key => IN_METADATA + key)
}

/** Explains the event of a body; null when it is not `eventId`'s, or cannot be read. */
export function explainEvent(body: Uint8Array, context: FrameContext, eventId: string): ExplainedEvent | null {
  const read = readExactJson(body)
  const outcome = parseEvent(body, 'json', context)
  if ('reason' in read || !isObject(read.value) || 'dead' in outcome) return null
  const row = outcome.units[0]?.events[0]
  if (row === undefined || row.event_id !== eventId) return null
  const sent = read.value
  const metadata = isObject(sent.metadata) ? sent.metadata : {}
  const fields = Object.entries(fieldsOfRow(row)).map(([field, value]) =>
    fieldOf(field, value, sent, field === 'cost' ? costWords(row) : (otherwise[field] ?? '')),
  )
  const used = new Set(fields.flatMap(({ from }) => (from === null ? [] : [from.attribute])))
  const attributes = Object.keys(metadata).map(key => ({
    attribute: IN_METADATA + key,
    became: used.has(IN_METADATA + key) ? 'a field, metadata' : isSecretName(key) ? 'metadata, masked' : 'metadata',
  }))
  return { eventId, span: null, dialects: [], fields, attributes }
}

/** Why a field is what it is when nothing of the body says it. */
const otherwise: Readonly<Record<string, string>> = {
  kind: 'an event without a type is an agent turn',
  user_id: 'the session knows its user',
  failed: 'nothing says that it failed',
}

function fieldOf(field: string, value: string, sent: JsonObject, because: string): ExplainedField {
  const keys = places[field] ?? []
  const found = keys.flatMap(key => {
    const held = valueAt(sent, key)
    return held === undefined || held === null || held === '' ? [] : [placeOf(key, held)]
  })
  // What an event cost, and what failed, may come from elsewhere though something stands there.
  const overruled = because !== '' && field === 'cost'
  const winner = value === '' || overruled ? undefined : found.find(place => !isNoAmount(field, place.value))
  return {
    field,
    value,
    from: winner ?? null,
    because: winner === undefined ? because : '',
    ignored: found
      .filter(place => place !== winner)
      .map(place => ({
        ...place,
        why: isNoAmount(field, place.value)
          ? 'is no amount'
          : winner === undefined
            ? 'says nothing that could be stored'
            : `comes after ${winner.attribute}`,
      })),
    looked:
      winner === undefined && found.length === 0 ? keys.map(key => ({ attribute: key, dialect: dialectOf(key) })) : [],
  }
}

function valueAt(sent: JsonObject, place: string): unknown {
  const inside = place.startsWith(IN_METADATA)
  const object = inside ? sent.metadata : sent
  const key = inside ? place.slice(IN_METADATA.length) : place
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined
}

function placeOf(attribute: string, value: unknown): ExplainedPlace {
  const text = typeof value === 'string' ? maskText(value) : jsonText(value)
  const shown = isSecretName(attribute.replace(IN_METADATA, '')) ? MASK : cut(text)
  return { attribute, dialect: dialectOf(attribute), step: 'contract', value: shown }
}

const dialectOf = (place: string): string => (place.startsWith(IN_METADATA) ? 'sdk metadata' : 'contract')

const isNoAmount = (field: string, text: string): boolean =>
  /tokens|cost/.test(field) && !(text.trim() !== '' && Number(text) >= 0 && Number.isFinite(Number(text)))
