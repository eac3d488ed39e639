// A question that goes by what was told a while ago -> a look at the store beside it, so that the next one finds something newer. There is
// one at a time of an organization, and none where nobody asks.
import type { ClickHouseSettings } from '@clickhouse/client'
import type { Metrics } from '#runtime/metrics.ts'
import { BESIDE } from '#store/classes.ts'
import type { Question } from '../questions.ts'
import type { Parameters, Reader } from '../reader.ts'
import type { Kind } from './organization.ts'
import { inTurn, isKept, keptLately, type Look, orTooMuch, type Slot } from './slot.ts'
import type { How } from './told.ts'

/** Of what may be lent: whoever comes when a third of it is over lets the next one find something newer, and a look takes its time. */
const RENEWED_AT = 1 / 3

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

/** Looks of all organizations. */
export interface Looks {
  /** Hears how each question comes to what it goes by. */
  hear(of: Looked, how: How, ageMs: number): void
  /** Where what was told has grown too old, and a look is about to bring what a question needs: waits for it, which is less than to ask. */
  catchUp(slot: Slot, kinds: readonly Kind[], reader: Reader): Promise<void>
}

/** Nobody looks yet. */
export function createLooks({ freshMs, maxBytes, sinceMs, openReader, metrics }: LooksOptions): Looks {
  const renewedMs = freshMs * RENEWED_AT
  const told = metrics.counter(
    'query_told_total',
    'looks at kept days by where they had what the store says: asked, shared with another question, lent, or lent while the store is asked beside',
    ['how'],
  )
  /** Brings memory to what the store says, while questions go by what was told. */
  const look = async ({ slot }: Looked, reader: Reader, kinds: readonly Kind[]): Promise<void> => {
    const { days } = slot
    const looked = await days.look(reader, kinds)
    const take = () => days.refresh(reader, { kinds: kinds.filter(kind => isKept(slot, kind)), maxBytes, looked })
    // There may have been too much for memory meanwhile.
    if (slot.days === days) await inTurn(slot, () => take().catch(orTooMuch))
  }
  const begin = (of: Looked): void => {
    const { slot, organization } = of
    const atMs = sinceMs()
    const kinds = keptLately(slot, freshMs, atMs)
    const { reader, hurry } = steppingBack(openReader(organization))
    const looking: Look = {
      ...{ atMs, kinds, isAskedAgain: false },
      hurry() {
        hurry()
        return ended
      },
    }
    slot.looking = looking
    const ended = look(of, reader, kinds)
      // The reader has told of it; what is lent grows too old, and a question asks.
      .catch(() => undefined)
      .then(() => {
        slot.looking = undefined
        // What it was told is as old as it took: whoever came meanwhile may well come again.
        if (looking.isAskedAgain && slot.days.isTooOld(reader, renewedMs)) begin(of)
      })
  }
  return {
    hear(of, how, ageMs) {
      const { looking } = of.slot
      const isDue = how === 'lent' && ageMs >= renewedMs
      const begins = isDue && looking === undefined
      told.inc({ how: begins ? 'lent, asked beside' : how })
      if (begins) begin(of)
      else if (isDue && looking) looking.isAskedAgain = true
    },
    async catchUp(slot, kinds, reader) {
      const { looking } = slot
      if (looking === undefined || !slot.days.isTooOld(reader, freshMs)) return
      const isYoung = sinceMs() - looking.atMs < freshMs
      if (isYoung && kinds.every(kind => looking.kinds.includes(kind))) await looking.hurry()
    },
  }
}

/**
 * The same reader, whose statements let those go first that somebody waits for: one after the other, since many that step back take a core
 * together, and the organization's turns. `hurry`: from now on somebody waits for them, too.
 */
function steppingBack(reader: Reader): { reader: Reader; hurry(): void } {
  const { promise: hurried, resolve } = Promise.withResolvers<void>()
  let before: Promise<unknown> = Promise.resolve()
  let settings: ClickHouseSettings = BESIDE
  const over = (inner: Reader): Reader => ({
    bounded: () => over(inner.bounded()),
    read<T>(question: Question, sql: string, parameters?: Parameters, own?: ClickHouseSettings) {
      const rows = Promise.race([before, hurried]).then(() =>
        inner.read<T>(question, sql, parameters, { ...own, ...settings }),
      )
      before = rows.catch(() => undefined)
      return rows
    },
  })
  return {
    reader: over(reader),
    hurry() {
      settings = {}
      resolve()
    },
  }
}
