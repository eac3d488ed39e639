// For tests: what a body becomes, read from bytes or the way of objects, as one text that can be compared.
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { encodeRange, parseRange } from '../block.ts'
import { createEncoder } from '../encoder.ts'
import type { Parsers } from '../frames.ts'
import { homesByOrdinal, keysOf, looseOf } from '../loose.ts'
import { createReadings } from '../readings.ts'
import { parsers } from '../registry.ts'

const readings = createReadings(
  {
    version: 'test',
    entries: [
      { model: 'gpt-4o', provider: 'openai', version: '1', source: 'test', prices: { input: 2.5, output: 10 } },
    ],
  },
  { readings: () => new Map(), readingOf: () => undefined, onReading: () => () => {} },
).now()

const { packTraces: _, openBodies: __, ...left } = parsers
/** Parsers that make objects of everything. */
export const objects: Parsers = left

const HOME = { conversation_id: '22222222-2222-4222-8222-222222222222', session_id: 'of a link' }

/** Everything that a body becomes, as text, and how its spans were read. */
export function become(
  body: Uint8Array,
  use: Parsers,
  form: 'json' | 'protobuf' = 'protobuf',
): { all: string; spans: number; objects: number } {
  const writer = new EnvelopeWriter(8 * 1024 * 1024)
  const organization = uuidBytes('11111111-1111-4111-8111-111111111111')
  writer.append(FrameKind.otlp, FrameEncoding[form], organization, 1_790_000_000_000, null, body)
  const bytes = writer.finish().slice()
  const one = { bytes, ends: Float64Array.of(bytes.length), sequences: Float64Array.of(7) }
  const input = { ...one, partition: 1, generation: 2, classes: {}, reading: readings, dead: [], scope: {} }
  const parsed = parseRange(input, use, () => {})
  const blocks = encodeRange(parsed, input, [], createEncoder())
  // Once more with every second loose span at home.
  const { asked, ordinals } = looseOf(parsed.units)
  const { homeAt } = homesByOrdinal(ordinals, { of: Uint16Array.from(ordinals, (_, i) => i % 2), homes: [HOME] })
  const placed = encodeRange(parsed, input, [], createEncoder(), homeAt)
  const made = [...blocks, ...placed].map(block => [block.table, block.month, block.rows, block.checksum])
  const { prints, loose, unpriced, units, dead } = parsed
  const all = JSON.stringify([
    made,
    Buffer.from(prints.list).toString('hex'),
    loose,
    unpriced,
    units.length,
    dead,
    keysOf(asked),
    [...asked.free],
  ])
  return { all, spans: units.length, objects: Object.values(parsed.fallbacks).reduce((a, b) => a + b, 0) }
}
