// Exporters send spans in whatever requests they like: of every recording, sent whole, each span in a request of its own, in any order, the
// same rows come: what is said, by what, in which conversation.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { decodeTraces } from '#proto/otlp/decode.ts'
import type { Span } from '#proto/otlp/span.ts'
import type { EventRow, LinkRow, TextRow } from '#proto/rows.ts'
import { context } from '../../fixture.ts'
import { unitsOfSpans } from '../../otlp.ts'
import { FIXTURES, fixtureNames } from './golden.ts'

/** Recordings of which two instrumentations tell each model call: only where both spans are in one request they are known to be one call. */
const toldTwice: ReadonlySet<string> = new Set(['openinference-anthropic'])

function spansOf(name: string): readonly Span[] {
  const decoded = decodeTraces(readFileSync(join(FIXTURES, name, 'traces.bin')), 'protobuf')
  if (!decoded.ok) throw new Error(decoded.reason)
  return decoded.spans
}

interface Told {
  readonly events: readonly EventRow[]
  readonly texts: readonly TextRow[]
  readonly home: LinkRow | undefined
}

/** The rows of some requests by span, and the link of their trace that counts. */
function told(requests: readonly (readonly Span[])[]): Told {
  const units = requests.flatMap(spans => unitsOfSpans(spans, context))
  const rank = ({ depth, started_at, span_id }: LinkRow): string =>
    `${depth} ${started_at} ${span_id.padStart(20, '0')}`
  const links = units.flatMap(unit => unit.links ?? []).sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
  const byId = <T extends { event_id: string }>(rows: readonly T[]): T[] =>
    rows.toSorted((a, b) => a.event_id.localeCompare(b.event_id))
  return {
    events: byId(units.flatMap(unit => unit.events)),
    texts: byId(units.flatMap(unit => unit.texts)),
    home: links[0],
  }
}

/** Numbers that look random and are always the same. */
function shuffled<T>(list: readonly T[], seed: number): T[] {
  let state = seed
  const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0)
  return list
    .map(one => ({ one, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

/** The same without what is known only where both spans of a call stand together. */
const bare = ({ events, ...others }: Told) => ({
  ...others,
  events: events.map(({ event_id, conversation_id, input_preview, output_preview, failed }) => ({
    ...{ event_id, conversation_id, input_preview, output_preview, failed },
  })),
})

for (const name of fixtureNames()) {
  t.test(name, async t => {
    const spans = spansOf(name)
    const compared = (requests: readonly (readonly Span[])[]) =>
      toldTwice.has(name) ? bare(told(requests)) : told(requests)
    const whole = compared([spans])
    t.equal(whole.events.length, spans.length, 'every span has its row')
    const alone = (order: readonly Span[]) => order.map(span => [span])
    t.same(compared(alone(spans)), whole, 'each in a request of its own')
    t.same(compared(alone(spans.toReversed())), whole, 'in reverse')
    t.same(compared([spans.toReversed()]), whole, 'reversed in one request')
    for (const seed of [1, 2, 3]) {
      const order = shuffled(spans, seed)
      const half = Math.floor(order.length / 2)
      t.same(compared(alone(order)), whole, `in any order, ${seed}`)
      t.same(compared([order.slice(0, half), order.slice(half)]), whole, `in two requests, ${seed}`)
    }
  })
}
