// Which failures of a batch are those of spans below: an agent that fails because a call below it did is no second failure. Steps never fail
// by themselves (failure.ts), in whatever batch they come; an agent whose call came in another one counts beside it.
import type { Neighbour } from './reading.ts'
import type { Family } from './tree.ts'

/** Lets every failure count where it happened: at the deepest span. */
export function carryFailures(families: readonly Family[]): void {
  for (const { reading, parent } of families) {
    if (reading.failure === null || reading.carried) continue
    for (let above = parent; above !== null; above = above.parent)
      if (mayCarry(above.reading)) above.reading.carried = true
  }
}

/** Calls of tools and models are counted by themselves: each tells how often it fails. */
const mayCarry = ({ failure, kind }: Neighbour): boolean =>
  failure !== null && (kind.kind === 'agent' || kind.kind === 'other')
