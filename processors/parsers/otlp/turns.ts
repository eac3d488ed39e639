// Agent turns that say nothing themselves, or only a body of no known shape -> the words of the model calls below them: what the user said last to the first call,
// and what the last call answered. Model calls end before their agent does, and stand mostly in one batch with it; an agent whose
// calls came in another batch is stored without text; query/reads/lenders.ts finds it when it is shown.
import { nanosBetween } from '#proto/time.ts'
import type { Said } from './content.ts'
import { lend, type Neighbour } from './reading.ts'
import type { Family } from './tree.ts'

interface Ends {
  first: Family | null
  last: Family | null
}

/** Gives agents without texts those of their model calls, and model calls without texts those of the step around them. */
export function lendTexts(families: readonly Family[]): void {
  lendFromSteps(families)
  lendToAgents(families)
  lendFromAgents(families)
}

/** No text, or a body of no known shape, which nobody said. */
const isSilent = (said: Said | null): boolean => said === null || !said.words

function lendToAgents(families: readonly Family[]): void {
  const silent = new Map<Neighbour, Ends>()
  for (const { reading } of families) {
    if (reading.kind.kind === 'agent' && (isSilent(reading.input) || isSilent(reading.output))) {
      silent.set(reading, { first: null, last: null })
    }
  }
  if (silent.size === 0) return
  for (const family of families) {
    const { kind, input, output } = family.reading
    if (kind.type !== 'llm' || (input?.words !== true && output?.words !== true)) continue
    for (let above = family.parent; above !== null; above = above.parent) {
      // What is said within a tool is not said by the agent that called it.
      if (above.reading.kind.kind === 'tool') break
      const ends = silent.get(above.reading)
      if (ends !== undefined) note(ends, family)
    }
  }
  for (const [reading, { first, last }] of silent) {
    if (isSilent(reading.input) && first !== null) lend(reading, 'input', first.reading)
    if (isSilent(reading.output) && last !== null) lend(reading, 'output', last.reading)
  }
}

/** Runs around agents whose model calls say nothing take what the agents say. */
function lendFromAgents(families: readonly Family[]): void {
  for (const family of families) {
    const { kind, input, output } = family.reading
    if (kind.kind !== 'agent') continue
    for (let above = family.parent; above !== null; above = above.parent) {
      const to = above.reading
      if (to.kind.kind === 'tool') break
      if (to.kind.kind !== 'agent') continue
      if (isSilent(to.input) && input?.words === true) lend(to, 'input', family.reading)
      // Of several agents the one that ended last answers: spans stand in the order in which they ended.
      const open = isSilent(to.output) || to.lent.output?.agent === true
      if (open && output?.words === true) lend(to, 'output', family.reading, true)
    }
  }
}

/** Frameworks that write the messages on the step around a call leave the call itself without. */
function lendFromSteps(families: readonly Family[]): void {
  const callsBelow = new Map<Family, number>()
  const silent: Family[] = []
  for (const family of families) {
    const { kind, input, output } = family.reading
    if (kind.kind !== 'llm' || kind.type !== 'llm') continue
    for (const step of stepsAround(family)) callsBelow.set(step, (callsBelow.get(step) ?? 0) + 1)
    if (input === null || output === null) silent.push(family)
  }
  for (const family of silent) {
    for (const step of stepsAround(family)) {
      if (callsBelow.get(step) !== 1) break
      for (const side of ['input', 'output'] as const) {
        if (family.reading[side] === null && step.reading[side] !== null) lend(family.reading, side, step.reading)
      }
    }
  }
}

/** Steps that a framework marks as such, from the inside out. */
function stepsAround(family: Family): Family[] {
  const steps: Family[] = []
  for (let above = family.parent; above !== null; above = above.parent) {
    const { kind, typed } = above.reading.kind
    if (kind !== 'other' || !typed) break
    steps.push(above)
  }
  return steps
}

function note(ends: Ends, call: Family): void {
  if (call.reading.input?.words === true && (ends.first === null || begins(call, ends.first) < 0)) ends.first = call
  if (call.reading.output?.words === true && (ends.last === null || begins(call, ends.last) >= 0)) ends.last = call
}

/** Order by start; of the same start, by position in the batch. */
function begins(a: Family, b: Family): number {
  const [first, second] = [a.reading.facts.span.start, b.reading.facts.span.start]
  const order = first === null || second === null ? 0 : nanosBetween(second, first)
  return order === 0 ? a.at - b.at : order
}
