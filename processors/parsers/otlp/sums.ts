// Which spans of a batch count their usage. Agents, steps and gateways repeat the sums of the model calls below them; counting
// both would double every figure, counting neither would lose what only the agent says:
//
//   1  a model call counts. Spans that tell the same call have been joined before (calls.ts), and one of them counts.
//   2  any other span counts what it reports when nothing below it counts, unless its framework is known to repeat always: its
//      model calls are there, if not in this batch then in another.
//   3  steps and events that a framework marks as such never count.
//   4  where a framework's model spans hold only the last call of a loop, its agents count and its model calls do not.
//
// Spans end, and arrive, before their parents, mostly within one batch of an exporter: what is below a span stands beside it. Where
// an exporter sends every span alone, rule 2 keeps a sum that the calls counted already, for frameworks that no dialect knows; such
// rows say `parley.usage: own`, and reads of a conversation leave out agents whose trace has model calls with usage.
import type { Counting, Neighbour } from './reading.ts'
import type { Family } from './tree.ts'

const CLEAN = 1
const CROSSED = 2
const EMBEDDED = 4

/** Decides for every span of a batch; see above. */
export function countUsage(families: readonly Family[]): void {
  const marks = new Map<Neighbour, number>()
  for (const family of families) {
    if (family.reading.reported !== null && verdictAlone(family.reading) === 'eligible') mark(family, marks)
  }
  for (const { reading } of families) reading.counting = countingOf(reading, marks.get(reading) ?? 0)
}

function verdictAlone({ kind, facts, sameAs }: Neighbour): 'eligible' | Counting {
  if (sameAs !== '') return 'same call'
  if (facts.dialects.some(dialect => dialect.usageOnAgents === true)) {
    return kind.kind === 'agent' ? 'eligible' : 'a step'
  }
  if (kind.kind === 'llm') return 'eligible'
  // What no framework gave a type was written by hand: it repeats nothing that is not there.
  if (!kind.typed) return 'eligible'
  if (kind.kind === 'other') return 'a step'
  return facts.dialects.some(dialect => dialect.repeatsUsage === true) ? 'repeated always' : 'eligible'
}

/** Tells every span above that one below it counts. */
function mark(family: Family, marks: Map<Neighbour, number>): void {
  let state = family.reading.kind.type === 'embedding' ? EMBEDDED : CLEAN
  for (let above = family.parent; above !== null; above = above.parent) {
    const before = marks.get(above.reading) ?? 0
    // Whoever was told already has told those above.
    if ((before & state) === state) return
    marks.set(above.reading, before | state)
    if (state === CLEAN && above.reading.kind.kind === 'tool') state = CROSSED
  }
}

function countingOf(reading: Neighbour, marks: number): Counting {
  const { reported, kind, facts } = reading
  if (reported === null) return 'none'
  const verdict = verdictAlone(reading)
  if (verdict !== 'eligible') return verdict
  if (kind.kind === 'llm') return 'counted'
  const generates = (reported.usage.outputTokens ?? 0) > 0
  // Agents that count for themselves leave out agents that they called as tools.
  const aside = facts.dialects.some(dialect => dialect.usageOnAgents === true) ? CROSSED : 0
  const below = (marks & (CLEAN | CROSSED) & ~aside) !== 0 || ((marks & EMBEDDED) !== 0 && !generates)
  if (below) return 'repeated below'
  return kind.typed ? 'own' : 'counted'
}
