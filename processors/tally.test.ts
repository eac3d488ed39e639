// What became of the payloads of a range: runs of repeats, dead frames and scopes, counted by hand.
import t from 'tap'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { packTally, unpackTally } from '#proto/ledger.ts'
import type { OrdinalRun, Scope } from './protocol.ts'
import { tallyOf } from './tally.ts'
import { Units } from './units.ts'

const HOUR_MS = 3_600_000
const [A, B] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']

/** Two messages: of `a` two events, a call and a trace of three spans an hour later; of `b` an event and one that is dead. */
function world(): { bytes: Uint8Array; ends: Float64Array; sequences: Float64Array; units: Units } {
  const units = new Units()
  const frames = [
    [
      [FrameKind.event, A, 1, 1],
      [FrameKind.event, B, 1, 1],
      [FrameKind.otlp, A, 2, 3],
    ],
    [
      [FrameKind.event, A, 1, 1],
      [FrameKind.event, B, 1, 0],
      [FrameKind.voice, A, 1, 1],
    ],
  ] as const
  const messages = frames.map((message, m) => {
    const writer = new EnvelopeWriter(10_000)
    for (const [f, [kind, organization, hour, count]] of message.entries()) {
      const atMs = hour * HOUR_MS + 5
      writer.append(kind, FrameEncoding.json, uuidBytes(organization), atMs, null, Buffer.from('{}'))
      for (let i = 0; i < count; i++) units.addEvent(0, m + 7, f)
    }
    return Buffer.from(writer.finish())
  })
  const bytes = Buffer.concat(messages)
  const ends = Float64Array.of(messages[0]?.length ?? 0, bytes.length)
  return { bytes: new Uint8Array(bytes), ends, sequences: Float64Array.of(7, 8), units }
}

t.test('payloads are stored, dead, or repeats as a whole, of their organization, hour and surface', async t => {
  const { units, ...input } = world()
  const f = (scope: Scope, repeats: readonly OrdinalRun[], expected: readonly (readonly unknown[])[]) => {
    const parsed = { units, dead: [{ sequence: 8, frame: 1 }] } as unknown as Parameters<typeof tallyOf>[1]
    const tally = tallyOf({ ...input, scope } as unknown as Parameters<typeof tallyOf>[0], parsed, repeats)
    t.strictSame(
      tally.map(one => [
        one.organization,
        one.hour,
        one.surface,
        one.payloads,
        one.dead,
        one.repeats,
        one.items,
        one.repeatedItems,
      ]),
      expected,
    )
    t.strictSame(unpackTally(packTally(tally)), tally)
  }
  f(
    {},
    [],
    [
      [A, 1, 'sdk', 2, 0, 0, 2, 0],
      [B, 1, 'sdk', 2, 1, 0, 1, 0],
      [A, 2, 'otlp', 1, 0, 0, 3, 0],
      [A, 1, 'voice', 1, 0, 0, 1, 0],
    ],
  )
  // The first two events, one span of three, and the call.
  f(
    {},
    [
      [0, 2],
      [6, 6],
    ],
    [
      [A, 1, 'sdk', 2, 0, 1, 2, 1],
      [B, 1, 'sdk', 2, 1, 1, 1, 1],
      [A, 2, 'otlp', 1, 0, 0, 3, 1],
      [A, 1, 'voice', 1, 0, 1, 1, 1],
    ],
  )
})

t.test('frames of other scopes are not counted', async t => {
  const { sequences, bytes, ends } = world()
  const count = (scope: Scope): number => {
    const parsed = { units: new Units(), dead: [] } as unknown as Parameters<typeof tallyOf>[1]
    const input = { sequences, bytes, ends, scope } as unknown as Parameters<typeof tallyOf>[0]
    return tallyOf(input, parsed, []).reduce((sum, one) => sum + one.payloads, 0)
  }
  t.equal(count({ only: [A] }), 4)
  t.equal(count({ without: [A] }), 2)
  t.equal(count({ without: [A, B] }), 0)
})
