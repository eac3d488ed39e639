// A question that goes by what was told a while ago -> a look at the store beside it, so that the next one finds something newer. There is
// one at a time of an organization, and none where nobody asks.
import type { Metrics } from '#runtime/metrics.ts'
import { BESIDE } from '#store/classes.ts'
import type { Reader } from '../reader.ts'
import { inTurn, isKept, keptLately, orTooMuch, type Slot } from './slot.ts'
import type { How } from './told.ts'

/** Of what may be lent: whoever comes when half of it is over lets the next one find something newer. */
const RENEWED_AT = 0.5

/** What looking needs. */
interface LooksOptions {
  readonly freshMs: number
  readonly maxBytes: number
  sinceMs(): number
  openReader(organization: string): Reader
  readonly metrics: Metrics
}

/** Who is looked at. */
interface Looked {
  readonly slot: Slot
  readonly organization: string
}

/** Hears how each question comes to what it goes by. */
export type Hear = (of: Looked, how: How, ageMs: number) => void

/** Nobody looks yet. */
export function createLooks({ freshMs, maxBytes, sinceMs, openReader, metrics }: LooksOptions): Hear {
  const told = metrics.counter(
    'query_told_total',
    'looks at kept days by where they had what the store says: asked, shared with another question, lent, or lent while the store is asked beside',
    ['how'],
  )
  /** Brings memory to what the store says, while questions go by what was told. */
  const look = async ({ slot, organization }: Looked): Promise<void> => {
    const { days } = slot
    const kinds = keptLately(slot, freshMs, sinceMs())
    const reader = steppingBack(openReader(organization))
    const looked = await days.look(reader, kinds)
    const take = () => days.refresh(reader, { kinds: kinds.filter(kind => isKept(slot, kind)), maxBytes, looked })
    // There may have been too much for memory meanwhile.
    if (slot.days === days) await inTurn(slot, () => take().catch(orTooMuch))
  }
  return (of, how, ageMs) => {
    const { slot } = of
    const isDue = how === 'lent' && !slot.looking && ageMs >= freshMs * RENEWED_AT
    told.inc({ how: isDue ? 'lent, asked beside' : how })
    if (!isDue) return
    slot.looking = true
    look(of)
      // The reader has told of it; what is lent grows too old, and a question asks.
      .catch(() => undefined)
      .finally(() => {
        slot.looking = false
      })
  }
}

/** The same reader, whose statements let those go first that somebody waits for. */
const steppingBack = (reader: Reader): Reader => ({
  bounded: () => steppingBack(reader.bounded()),
  read: (question, sql, parameters, settings) => reader.read(question, sql, parameters, { ...settings, ...BESIDE }),
})
