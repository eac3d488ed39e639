// Groups of conversations from kept days: whose key says what, when each was last active inside the window, what they come to.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import type { Reader } from '../reader.ts'
import type { Grouping, GroupRecord } from '../reads/groups.ts'
import { valuesKind } from './columns.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'
import { pricesOfKeys } from './prices.ts'
import { numbersOf } from './rows.ts'
import { LAST_DAY_SQL } from './sql.ts'

const DAY_MS = 86_400_000

/** A page of groups, one more, and the costs of those on the page. */
export interface KeptGroups {
  readonly rows: readonly GroupRecord[]
  readonly costs: ReadonlyMap<string, CostMetadata[]>
}

interface LastDay {
  readonly ids: string
  readonly standing: readonly number[]
}

/** Groups by last activity, ties by value, as `readGroups` answers. Precondition: no conditions. Null: they are not kept. */
export function readKeptGroups(
  kept: KeptDays,
  reader: Reader,
  { organization, grouping, pageSize }: { organization: string; grouping: Grouping; pageSize: number },
): Promise<KeptGroups | null> {
  const { window, slice } = grouping
  const kind = valuesKind(grouping)
  return kept.with(organization, kind, async (memory, asked) => {
    const ends = Number.isFinite(window.toMs)
    // The edge first, as with figures; a window that does not end has none that days would not know.
    const [last] = ends ? await reader.read<LastDay>('last_day', LAST_DAY_SQL, window.parameters) : []
    if ((await memory.refresh(reader, asked)) !== 'done') return null
    const activity = activityOf(memory, grouping, last)
    const groups = gather(memory, grouping, activity)
    const after = groups.filter(isAfter(grouping)).sort(byActivity(grouping))
    const found = after.slice(slice.offset, slice.offset + slice.limit)
    const overlapping = groups.some(group => group.several) ? 1 : 0
    const rows = found.map(group => recordOf(memory, group, overlapping))
    return { rows, costs: costsOf(memory, found.slice(0, pageSize)) }
  })
}

/** When conversations were last active inside the window: the day since 1970, 0 = never, and the nanosecond of it. */
interface Activity {
  readonly days: Uint16Array
  readonly nanos: Float64Array
}

function activityOf(memory: OrganizationDays, { window }: Grouping, last: LastDay | undefined): Activity {
  const size = memory.ids.size()
  const lastIds = last === undefined ? new Uint32Array(0) : numbersOf(memory.ids, last.ids)
  const [days, nanos] = [new Uint16Array(Math.max(size, memory.ids.size())), new Float64Array(memory.ids.size())]
  const { from_day, to_day } = window.parameters
  for (const day of memory.days()) {
    const pairs = memory.pairsOf(day)
    if (pairs === undefined || day < from_day || day >= to_day) continue
    const number = dayNumber(day)
    const { conversations, standing } = pairs
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      if (number < (days[conversation] as number)) continue
      days[conversation] = number
      nanos[conversation] = standing[i] as number
    }
  }
  for (let i = 0; i < lastIds.length; i++) {
    days[lastIds[i] as number] = dayNumber(to_day)
    nanos[lastIds[i] as number] = last?.standing[i] as number
  }
  // What was last active on the first day may have been so before the window began.
  const [first, begin] = [dayNumber(from_day), (window.fromMs % DAY_MS) * 1_000_000]
  for (let i = 0; i < days.length; i++) if (days[i] === first && (nanos[i] as number) < begin) days[i] = 0
  return { days, nanos }
}

/** From 1 on, so that 0 is none. */
const dayNumber = (day: string): number => Date.parse(day) / DAY_MS + 1

interface Group {
  readonly value: string
  readonly conversations: number[]
  events: number
  day: number
  nanos: number
  /** Some conversation is in several groups. */
  several: boolean
}

function gather(memory: OrganizationDays, grouping: Grouping, { days, nanos }: Activity): Group[] {
  const { numbers, groupsOf } = memory.valuesOf(valuesKind(grouping))
  const groups = new Map<string, Group>()
  const make = (value: string): Group => {
    const group = groups.get(value) ?? { value, conversations: [], events: 0, day: 0, nanos: 0, several: false }
    groups.set(value, group)
    return group
  }
  // By number of what was said, so that its JSON is read once.
  const known = new Map<number, { groups: readonly Group[]; several: boolean }>()
  const groupsFor = (number: number) => {
    const values = groupsOf(number)
    const wanted = values.filter(value => grouping.value === undefined || value === grouping.value)
    const found = { groups: wanted.map(make), several: values.length > 1 }
    known.set(number, found)
    return found
  }
  for (let conversation = 0; conversation < numbers.length; conversation++) {
    const number = numbers[conversation] as number
    const day = days[conversation] as number
    const events = memory.eventsOf(conversation)
    if (number === 0 || day === 0 || events === 0) continue
    const of = known.get(number) ?? groupsFor(number)
    for (const group of of.groups) {
      group.conversations.push(conversation)
      group.events += events
      group.several ||= of.several
      const at = nanos[conversation] as number
      if (day > group.day || (day === group.day && at > group.nanos)) [group.day, group.nanos] = [day, at]
    }
  }
  return [...groups.values()].filter(({ conversations }) => conversations.length > 0)
}

const bytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const byActivity =
  ({ sort }: Grouping) =>
  (a: Group, b: Group): number => {
    const later = a.day - b.day || a.nanos - b.nanos
    return (sort === 'newest' ? -later : later) || bytewise(a.value, b.value)
  }

/** Whether a group comes after the cursor. */
function isAfter({ slice: { after }, sort }: Grouping): (group: Group) => boolean {
  if (after === undefined) return () => true
  const at = `${after.at.slice(0, -1).padEnd(29, '0')}Z`
  return group => {
    const last = timeOf(group)
    if (last === at) return bytewise(group.value, after.id) > 0
    return sort === 'newest' ? last < at : last > at
  }
}

/** ISO 8601 with nanoseconds, as the store answers it. */
function timeOf({ day, nanos }: Group): string {
  const millis = new Date((day - 1) * DAY_MS + Math.floor(nanos / 1_000_000)).toISOString()
  return `${millis.slice(0, -1)}${String(nanos % 1_000_000).padStart(6, '0')}Z`
}

function recordOf(memory: OrganizationDays, group: Group, overlapping: 0 | 1): GroupRecord {
  const { value, conversations, events } = group
  const users = usersOf(memory, conversations)
  return { value, users, conversations: conversations.length, events, last_at: timeOf(group), overlapping }
}

/** Known users, each once, and every conversation of nobody. */
function usersOf(memory: OrganizationDays, conversations: readonly number[]): number {
  const known = new Uint8Array(memory.users.size())
  let users = 0
  for (const conversation of conversations) {
    const user = memory.userOf(conversation)
    if (user > 0 && known[user] === 1) continue
    known[user] = 1
    users++
  }
  return users
}

function costsOf(memory: OrganizationDays, groups: readonly Group[]): ReadonlyMap<string, CostMetadata[]> {
  const first = new Uint32Array(memory.ids.size())
  const others = new Map<number, number[]>()
  groups.forEach(({ conversations }, i) => {
    for (const conversation of conversations) {
      if (first[conversation] === 0) first[conversation] = i + 1
      else others.set(conversation, [...(others.get(conversation) ?? []), i + 1])
    }
  })
  const keys = groups.map(({ value }) => value)
  return pricesOfKeys(memory, keys, { first, others })
}
