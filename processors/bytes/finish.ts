// A settled span that was read by its plan -> what is still open before it can be written: usage, price, metadata, kept in its reading.
// null for one whose row needs something cut, clamped or merged: the way of objects does that.
import { isWithin } from '#proto/time.ts'
import type { FrameContext } from '../outcome.ts'
import { type Costing, costBits, costingOf, costNote } from '../parsers/cost.ts'
import { METADATA_BOUNDS } from '../parsers/metadata.ts'
import { structureKey } from '../parsers/otlp/content.ts'
import { CONTENT_UNITS } from '../parsers/otlp/span-metadata.ts'
import { NO_USAGE, type Usage } from '../parsers/rows.ts'
import { maskText } from '../parsers/secrets.ts'
import { lookIn, lookOf } from './content.ts'
import { Written } from './json-bytes.ts'
import { type Variant, variantOf } from './metadata.ts'
import type { ContentPlan, Plan } from './plan.ts'
import { SentMessages } from './quoted.ts'
import type { ByteReading } from './reading.ts'
import { A, ATTRIBUTE_INTS, Kind, S } from './spans.ts'
import { Look } from './suspicion.ts'
import { durationAt, isTimeAt, msAt } from './times.ts'

/** Longest text that may become longer while it is masked: it stays within what metadata holds. */
const MASKED_BYTES = 2_000
/** Bytes of structures: their JSON is at most six times as long, and some. */
const STRUCTURE_BYTES = 1_000
/** Longest messages that may become longer while they are masked: they stay within what is kept of them. */
const MASKED_CONTENT_UNITS = CONTENT_UNITS / 8

/** Finishes a span and returns how its metadata is written; null: see above. */
export function finish(reading: ByteReading, context: FrameContext): Variant | null {
  const plan = reading.plan as Plan
  if (!isTimely(reading, context) || reading.model.length > 256 || reading.provider.length > 256) return null
  if (reading.failure !== null && reading.failure.type.length > 256) return null
  const counts = reading.reported !== null && (reading.counting === 'counted' || reading.counting === 'own')
  const variant = variantFor(reading, plan, counts)
  if (variant === null || !isRoomy(reading, plan, variant)) return null
  const usage = counts ? (reading.reported?.usage ?? NO_USAGE) : NO_USAGE
  const costing = costingFor(reading, plan, usage, context)
  reading.variant = variant
  reading.usage = usage
  reading.note = costNote(costing)
  reading.costBits = costBits(costing)
  if ('costNanos' in costing) reading.costNanos = costing.costNanos
  if (costing.is === 'invalid') reading.unpriced = 'invalid'
  else if (costing.is === 'unpriced') reading.unpriced = costing.why
  return variant
}

const NONE: Costing = { is: 'none' }

function costingFor({ model, provider }: ByteReading, { billing }: Plan, usage: Usage, context: FrameContext): Costing {
  return usage === NO_USAGE ? NONE : costingOf({ model, provider, usage, billing }, context.pricing)
}

/** True for times that are stored as they were sent. */
function isTimely({ spans, row }: ByteReading, { receivedAtMs }: FrameContext): boolean {
  const [starts, ends] = [isTimeAt(spans, row, S.startLow), isTimeAt(spans, row, S.endLow)]
  if (!starts && !ends) return false
  if (!isWithin(msAt(spans, row, starts ? S.startLow : S.endLow), receivedAtMs)) return false
  return !starts || !ends || durationAt(spans, row) >= 0
}

/** The metadata of the span, by what was decided about it. */
function variantFor(reading: ByteReading, plan: Plan, counts: boolean): Variant | null {
  const { input, output, lent, inputPlace, outputPlace } = reading
  const inputKey = input?.structure?.key ?? ''
  const outputKey = output?.structure?.key ?? ''
  if (!isOwnKey(plan.input, inputPlace, inputKey) || !isOwnKey(plan.output, outputPlace, outputKey)) return null
  const ownInput = input !== null && lent.input === null
  const ownOutput = output !== null && lent.output === null
  const bits =
    (ownInput ? 1 : 0) |
    (ownOutput ? 2 : 0) |
    (counts ? 4 : 0) |
    (inputKey === '' ? 0 : 8) |
    (outputKey === '' ? 0 : 16)
  const key = ((inputPlace + 1) * 64 + outputPlace + 1) * 32 + bits
  const known = plan.variants.get(key)
  if (known !== undefined) return known
  const decided = { input: inputPlace, output: outputPlace, ownInput, ownOutput, counts, inputKey, outputKey }
  const made = variantOf(plan, decided)
  plan.variants.set(key, made)
  return made
}

/** True when messages are kept under the key of the place they stand in, or not at all. */
function isOwnKey({ places }: ContentPlan, place: number, key: string): boolean {
  const rule = places[place]?.rule
  return key === '' || (rule !== undefined && structureKey(rule) === key)
}

/** True when nothing of the metadata has to be cut. */
function isRoomy(reading: ByteReading, plan: Plan, { entries, fixedUnits, content }: Variant): boolean {
  return (
    areRoomy(reading, plan, { entries, fixedUnits }, METADATA_BOUNDS.valueUnits) &&
    areRoomy(reading, plan, content, CONTENT_UNITS)
  )
}

/** The same of the entries of one map, of which a value may have `valueUnits`. */
function areRoomy(
  reading: ByteReading,
  plan: Plan,
  { entries, fixedUnits }: Pick<Variant, 'entries' | 'fixedUnits'>,
  valueUnits: number,
): boolean {
  const { data, first } = reading
  let units = fixedUnits
  for (const { at, side, literal } of entries) {
    if (side !== null) {
      const most = mostUnits(reading, plan, side)
      if (most > valueUnits) return false
      units += most
    } else if (at >= 0) {
      const row = (first + at) * ATTRIBUTE_INTS
      const kind = data[row + A.kind] as number
      if (kind !== Kind.text && kind !== Kind.structure) continue
      const length = (data[row + A.y] as number) - (data[row + A.x] as number)
      const mayGrow = kind === Kind.structure || length <= MASKED_BYTES
      units += mayGrow ? 8 * length : length
      if (kind === Kind.structure) {
        if (length > STRUCTURE_BYTES) return false
      } else if (!mayGrow && (literal || length > valueUnits || (lookOf(reading, at) & Look.suspicious) !== 0)) {
        return false
      }
    }
  }
  return units <= METADATA_BOUNDS.totalUnits
}

/** Units that the messages of a side have at most when they are masked: counted where they are long. */
function mostUnits(reading: ByteReading, plan: Plan, side: 'input' | 'output'): number {
  const structure = reading[side]?.structure ?? null
  if (structure instanceof Written) {
    // No text has more units than bytes.
    const { bytes, start, end } = structure
    if (end - start <= MASKED_CONTENT_UNITS) return 8 * (end - start)
    if ((lookIn(bytes, start, end) & Look.suspicious) === 0) return end - start
  }
  const at = structureAt(reading, plan, side)
  // Nothing has more units than bytes.
  if (at >= 0 && structure instanceof SentMessages && structure.size <= CONTENT_UNITS) {
    const mayGrow = structure.size <= MASKED_CONTENT_UNITS
    if (mayGrow || (lookOf(reading, at) & Look.suspicious) === 0) return mayGrow ? 8 * structure.size : structure.size
  }
  const json = structure?.json ?? ''
  if (json.length <= MASKED_CONTENT_UNITS) return 8 * json.length
  if (json.length > CONTENT_UNITS) return json.length
  if (at < 0) return maskText(json).length
  return (lookOf(reading, at) & Look.suspicious) === 0 ? json.length : maskText(json).length
}

/** The attribute that the messages of a side are, as it was sent; -1 when they are something else. */
export function structureAt(reading: ByteReading, plan: Plan, side: 'input' | 'output'): number {
  if (reading.lent[side] !== null) return -1
  const place = plan[side].places[side === 'input' ? reading.inputPlace : reading.outputPlace]
  if (place === undefined || place.at < 0 || place.rule.dialect?.jsonValues === true) return -1
  return reading.data[(reading.first + place.at) * ATTRIBUTE_INTS + A.kind] === Kind.text ? place.at : -1
}
