// For tests: mutated trace exports by the million through everything that reads them from bytes, with no second reader beside it. What
// is promised of each: it becomes rows or a refusal with a name, as many as the check of bodies says; what the reader notes lies within
// the body, whatever stands around it; and nothing that is kept grows with the number of bodies.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { checkTraces } from '#proto/otlp/check.ts'
import { TRACES_DATA } from '#proto/otlp/fields.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { mutate } from '#proto/scan/fuzz/mutate.ts'
import { encodeFields, type Field, fieldsOf, mutateFields } from '#proto/scan/fuzz/mutate-protobuf.ts'
import { createRandom, type Random as FuzzRandom } from '#proto/scan/fuzz/random.ts'
import { OtlpProtobufScanner } from '#proto/scan/otlp-protobuf.ts'
import type { Random } from '#runtime/seeded.ts'
import { encodeRange, parseRange } from '../block.ts'
import { createEncoder, unfitReason } from '../encoder.ts'
import { plainReadings } from '../readings.ts'
import { parsers } from '../registry.ts'
import { jsonOf } from './fixture-json.ts'
import { messagesOf } from './fixture-messages.ts'
import { withRecords } from './fixture-records.ts'
import { A, ATTRIBUTE_INTS, Kind, S, SPAN_INTS, type SpanNumbers, SpanTable } from './spans.ts'

/** What a run has met. */
export interface PackTally {
  bodies: number
  /** Spans that were read by plans, and those that became objects first. */
  planned: number
  objects: number
  /** Bodies that were refused by name. */
  refused: number
  /** Bytes of blocks for a byte of payload, at most in one range. */
  growth: number
}

/** Forms of one range, and bodies of each form: the second of a likeness makes its plan, and the others are read by it. */
const RANGE = 8
const ALIKE = 16
/** Longest body that is mutated: what is longer costs more and meets nothing else. */
const SEED_BYTES = 3_000
const ORGANIZATION = '11111111-1111-4111-8111-111111111111'
const FORMS = ['protobuf', 'json'] as const

interface Seeds {
  readonly protobuf: readonly (readonly Field[])[]
  readonly json: readonly Buffer[]
}

interface Odd {
  readonly form: (typeof FORMS)[number]
  readonly body: Buffer
}

/** Reads mutated bodies for as long as it is asked to; see above. */
export class PackFuzz {
  readonly #random: FuzzRandom
  readonly #seeds: Seeds
  readonly #scanner = new OtlpProtobufScanner()
  readonly #tables = [new SpanTable(), new SpanTable()] as const
  readonly #surroundings = [Buffer.alloc(0), Buffer.alloc(0)]
  readonly #writer = new EnvelopeWriter(8 * 1024 * 1024)

  constructor(seed: number) {
    this.#random = createRandom(seed)
    this.#seeds = seedsOf(seed)
  }

  /** Reads `count` bodies, and what is missing to a range. @throws Error with the bodies of the range in which something was wrong. */
  run(count: number): PackTally {
    const tally: PackTally = { bodies: 0, planned: 0, objects: 0, refused: 0, growth: 0 }
    while (tally.bodies < count) {
      const bodies = Array.from({ length: RANGE }, () => this.#odd()).flatMap(odd => this.#alike(odd))
      try {
        this.#range(bodies, tally)
      } catch (error) {
        const all = bodies.map(({ form, body }) => `${form} ${body.toString('hex')}`).join('\n')
        throw new Error(`${String(error)}\n${all}`, { cause: error })
      }
      tally.bodies += bodies.length
    }
    return tally
  }

  #odd(): Odd {
    const random = this.#random
    const form = FORMS[random.below(8) === 0 ? 1 : 0]
    if (form === 'json') return { form, body: mutate(random.pick(this.#seeds.json), KEYS, random) }
    return { form: 'protobuf', body: mutateFields(random.pick(this.#seeds.protobuf), random) }
  }

  /** The body, and others that differ from it in a few bytes, most of them within what a plan leaves open. */
  #alike(odd: Odd): Odd[] {
    const random = this.#random
    const open = odd.form === 'protobuf' ? this.#open(odd.body) : []
    const others = Array.from({ length: ALIKE - 1 }, (): Odd => {
      const body = Buffer.from(odd.body)
      for (let i = random.below(3); i >= 0 && body.length > 0; i--) {
        const [from, to] = open.length === 0 || random.below(8) === 0 ? [0, body.length] : random.pick(open)
        const at = from + random.below(to - from)
        body[at] = random.below(4) > 0 ? (body[at] as number) ^ (1 << random.below(8)) : random.below(256)
      }
      return { form: odd.form, body }
    })
    return [odd, ...others]
  }

  /** Where ids and texts stand in a body that the table can read. */
  #open(body: Buffer): (readonly [from: number, to: number])[] {
    const [table] = this.#tables
    if (!this.#scanner.verdict(body).ok || !table.read(body, { resource: () => 0, scope: () => 0 })) return []
    const { spans, attributes, count } = table.numbers()
    const places: (readonly [number, number])[] = []
    for (let row = 0; row < count * SPAN_INTS; row += SPAN_INTS) {
      for (const [id, size] of IDS) {
        const at = spans[row + id] as number
        if (at >= 0) places.push([at, at + size])
      }
    }
    for (let row = 0; row < attributes.length; row += ATTRIBUTE_INTS) {
      const [from, to] = [attributes[row + A.x] as number, attributes[row + A.y] as number]
      if (attributes[row + A.kind] === Kind.text && from < to) places.push([from, to])
    }
    return places
  }

  #range(bodies: readonly Odd[], tally: PackTally): void {
    let [spans, refused] = [0, 0]
    this.#writer.reset()
    for (const { form, body } of bodies) {
      const verdict = checkTraces(body, form)
      if (verdict.ok) spans += verdict.spans - verdict.rejected
      else refused++
      if (form === 'protobuf') this.#apart(body, verdict.ok ? verdict.spans - verdict.rejected : -1)
      this.#writer.append(FrameKind.otlp, FrameEncoding[form], uuidBytes(ORGANIZATION), Date.now(), null, body)
    }
    const bytes = this.#writer.finish().slice()
    const one = { bytes, ends: Float64Array.of(bytes.length), sequences: Float64Array.of(7) }
    const input = {
      ...one,
      partition: 1,
      generation: 2,
      classes: {},
      reading: plainReadings.now(),
      dead: [],
      scope: {},
    }
    const parsed = parseRange(input, parsers, () => {})
    if (parsed.fault !== '') throw new Error(`a packer failed: ${parsed.fault}`)
    if (parsed.dead.length !== refused) throw new Error(`${parsed.dead.length} are dead, ${refused} are refused`)
    const unnamed = parsed.dead.find(({ code, reason }) => code !== 'DEAD_PARSE' || !/^ING_\w+ ./.test(reason))
    if (unnamed) throw new Error(`dead without a name: ${unnamed.code} ${unnamed.reason}`)
    if (parsed.units.length !== spans) throw new Error(`${parsed.units.length} units of ${spans} spans`)
    const blocks = encodeRange(parsed, input, [], createEncoder())
    const unfit = blocks.map(({ body }) => unfitReason(body)).find(reason => reason !== undefined)
    if (unfit !== undefined) throw new Error(`no column holds it: ${unfit}`)
    const events = blocks.reduce((sum, { table, rows }) => sum + (table === 'events' ? rows : 0), 0)
    if (events !== spans) throw new Error(`${events} events of ${spans} spans`)
    const objects = Object.values(parsed.fallbacks).reduce((sum, n) => sum + n, 0)
    tally.planned += spans - objects
    tally.objects += objects
    tally.refused += refused
    tally.growth = Math.max(tally.growth, blocks.reduce((sum, { body }) => sum + body.length, 0) / bytes.length)
  }

  /** Reads a body twice, with other bytes around it: the same is found, and all of it within the body. `spans`: -1 = it is refused. */
  #apart(body: Buffer, spans: number): void {
    // The walk of the table is made for bodies that the scanner took.
    if (!this.#scanner.verdict(body).ok) return
    const [first, second] = this.#tables.map((table, i) => {
      const held = this.#surrounded(body, i)
      const holders = { resource: () => 0, scope: () => 0 }
      return table.read(held, holders) ? table.numbers() : null
    })
    if (!first || !second) {
      if (first !== second) throw new Error('what stands around a body decides how it is read')
      return
    }
    if (first.count !== spans) throw new Error(`the table has ${first.count} of ${spans} spans`)
    const alike = Buffer.compare(viewOf(first.spans), viewOf(second.spans)) === 0
    if (!alike || Buffer.compare(viewOf(first.attributes), viewOf(second.attributes)) !== 0)
      throw new Error('what stands around a body is read')
    const fault = placeFault(first, body.length)
    if (fault !== '') throw new Error(fault)
  }

  #surrounded(body: Buffer, which: number): Buffer {
    const room = body.length + 128
    if ((this.#surroundings[which] as Buffer).length < room) {
      // Zeros, and bytes that go on for ever as a number or a length.
      this.#surroundings[which] = Buffer.alloc(2 * room, which === 0 ? 0 : 0xff)
    }
    const around = this.#surroundings[which] as Buffer
    around.fill(which === 0 ? 0 : 0xff, 0, room)
    body.copy(around, 64)
    return around.subarray(64, 64 + body.length)
  }
}

const KEYS = ['resourceSpans', 'scopeSpans', 'spans', 'traceId', 'spanId', 'parentSpanId', 'attributes', 'key', 'value']

const viewOf = ({ buffer, byteOffset, byteLength }: Int32Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

const RANGES = [
  [S.from, S.to],
  [S.nameFrom, S.nameTo],
  [S.messageFrom, S.messageTo],
] as const
const IDS = [
  [S.trace, 16],
  [S.id, 8],
  [S.parent, 8],
] as const

/** Why a place that was noted lies outside of the body; '' = none does. */
function placeFault({ count, spans, attributes }: SpanNumbers, length: number): string {
  const within = (from: number, to: number): boolean => from >= 0 && from <= to && to <= length
  for (let row = 0; row < count * SPAN_INTS; row += SPAN_INTS) {
    const at = (field: number): number => spans[row + field] as number
    if (!RANGES.every(([from, to]) => within(at(from), at(to)))) return `span ${row / SPAN_INTS} stands outside`
    if (!IDS.every(([id, size]) => at(id) === -1 || within(at(id), at(id) + size))) return 'an id stands outside'
    if (!within(at(S.firstAttribute), at(S.endAttribute))) return 'attributes end before they begin'
    if (at(S.endAttribute) * ATTRIBUTE_INTS > attributes.length) return 'attributes that are none'
  }
  for (let row = 0; row < attributes.length; row += ATTRIBUTE_INTS) {
    const at = (field: number): number => attributes[row + field] as number
    if (!within(at(A.keyFrom), at(A.keyTo))) return 'a key stands outside'
    const placed = at(A.kind) === Kind.text || at(A.kind) === Kind.structure
    if (placed && !within(at(A.x), at(A.y))) return 'a value stands outside'
  }
  return ''
}

const recorded = join(import.meta.dirname, '../parsers/otlp/recorded/fixtures')

/** Of each recording one span after the other, as a body of its own, plain and with events, links and the like. */
function seedsOf(seed: number): Seeds {
  const random = createRandom(seed)
  const below = (limit: number): number => random.below(limit)
  const recordings = readdirSync(recorded).map(name => readFileSync(join(recorded, name, 'traces.bin')))
  const bodies = [...recordings, ...Array.from({ length: MESSAGE_SEEDS }, (_, i) => withMessages(i, below))]
    .flatMap(body => [body, withRecords(body, below)])
    .flatMap(body => fieldsOf(body, TRACES_DATA).flatMap(apart))
  const small = bodies.filter(fields => encodeFields(fields).length <= SEED_BYTES)
  const json = small.flatMap(fields => {
    const text = jsonOf(encodeFields(fields), () => 1)
    return text === null ? [] : [Buffer.from(text)]
  })
  return { protobuf: small, json }
}

/** Bodies among the seeds that hold nothing but messages. */
const MESSAGE_SEEDS = 24

function withMessages(i: number, below: Random): Buffer {
  const values = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': messagesOf(below),
    'gen_ai.output.messages': messagesOf(below),
  }
  return Buffer.from(protobufBytes(request([span(1, 1 + i, { name: 'chat' }, values)])))
}

const SCOPES = 2
const SPANS = 2

/** Every field of spans in a message of its own, with what stands beside it. */
function apart(message: Field): Field[][] {
  const beside = (message.fields ?? []).filter(({ number }) => number !== SCOPES)
  const scopes = (message.fields ?? []).filter(({ number }) => number === SCOPES)
  return scopes.flatMap(scope => {
    const named = (scope.fields ?? []).filter(({ number }) => number !== SPANS)
    const spans = (scope.fields ?? []).filter(({ number }) => number === SPANS)
    return spans.map(span => [{ ...message, fields: [...beside, { ...scope, fields: [...named, span] }] }])
  })
}
