// Keys that are kept of an organization where there is no room for all: which of them go, and when.
import t from 'tap'
import type { Reader } from '../reader.ts'
import { eventValuesKind } from './columns.ts'
import { createOrganizationDays, type OrganizationDays } from './organization.ts'

const MINUTE_MS = 60_000
const DAY = { key: '2026-06-01', version: '7' }
/** Of an organization with one day, of which a key takes a fifth of a megabyte. */
const EVENTS = 100_000
const ANSWERS: Readonly<Record<string, readonly object[]>> = {
  day_versions: [{ of: 'events', day: DAY.key, version: DAY.version }],
  day_conversations: [{ ...DAY, ids: '', users: [] }],
  day_figures: [
    {
      ...{ ...DAY, events: EVENTS, errors: 0, timed: 0, us: 0, buckets: [], counts: [] },
      ...{ failed_in_all: 0, failed_events: '', failed_ids: '', failed_at: [] },
    },
  ],
  day_prices: [{ ...DAY, model: '', provider: '', how: 0, repeating: 0, size: 0, ids: '', sums: [] }],
  day_event_values: [
    {
      ...{ ...DAY, ids: '', texts: [], said: [], us: [], counts: [EVENTS], entries: Array<number>(EVENTS).fill(0) },
      ...{ call_counts: [0], tools: [], called: [], call_entries: [], call_us: [] },
    },
  ],
}

/** A reader a request, as requests have them. */
const reader = (): Reader => ({
  read: async <T>(question: string) => (ANSWERS[question] ?? []) as T[],
  bounded: reader,
})

const [ada, bob, cyd] = ['a', 'b', 'c'].map(key => eventValuesKind([key])) as [Kind, Kind, Kind]
type Kind = ReturnType<typeof eventValuesKind>

t.test('a key that nobody has asked for goes where there is no room for what is asked for', async t => {
  let nowMs = 0
  const days: OrganizationDays = createOrganizationDays({ sinceMs: () => nowMs })
  const ask = async (kind: Kind, maxBytes = Infinity) => days.refresh(reader(), { kinds: ['figures', kind], maxBytes })
  t.equal(await ask(ada), 'done')
  nowMs = MINUTE_MS
  t.equal(await ask(bob), 'done')
  const room = days.bytes() + EVENTS

  nowMs = 5 * MINUTE_MS - 1
  t.equal(await ask(cyd, room), 'full', 'both may be asked for again')
  t.ok(days.holds(ada) && days.holds(bob))
  days.forget(cyd)

  nowMs = 5 * MINUTE_MS
  t.equal(await ask(cyd, room), 'done')
  t.notOk(days.holds(ada), 'it was not asked for in five minutes')
  t.ok(days.holds(bob) && days.holds(cyd), 'no more than there is need for')
  t.equal(await ask(bob, room), 'done', 'and is as it was')

  nowMs = 9 * MINUTE_MS
  t.equal(await ask(ada, room), 'full', 'those that came for it are asked for themselves')
})
