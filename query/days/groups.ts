// Groups of conversations from kept days: whose key says what, when each was last active inside the window, what they come to.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import type { Reader } from '../reader.ts'
import type { Grouping, GroupRecord } from '../reads/groups.ts'
import { type Activity, fullTime, readLastDay, timeOf, withActivity } from './activity.ts'
import { valuesKind } from './columns.ts'
import type { KeptFilter, Meets } from './filter.ts'
import type { KeptDays } from './kept.ts'
import { asOfNow, type OrganizationDays } from './organization.ts'
import { pricesOfKeys } from './prices.ts'
import { withWords } from './scratch.ts'

/** A page of groups, one more, and the costs of those on the page. */
export interface KeptGroups {
  readonly rows: readonly GroupRecord[]
  readonly costs: ReadonlyMap<string, CostMetadata[]>
}

/** Which page of groups: of those conversations that a filter lets through, which says what the grouping's conditions do. */
export interface AskedGroups {
  readonly organization: string
  readonly grouping: Grouping
  readonly filter: KeptFilter
  readonly pageSize: number
}

/** Groups by last activity, ties by value, as `readGroups` answers. Null: they are not kept. */
export function readKeptGroups(
  kept: KeptDays,
  reader: Reader,
  { organization, grouping, filter, pageSize }: AskedGroups,
): Promise<KeptGroups | null> {
  const { window, slice } = grouping
  return kept.with({ organization, reader }, [valuesKind(grouping), ...filter.kinds], async (memory, asked) => {
    const [last, filtered] = await Promise.all([
      readLastDay(reader, window),
      filter.ask(reader, window, { memory, asked }),
    ])
    const asking = last === undefined ? filtered.asked : asOfNow(memory, filtered.asked)
    if ((await memory.refresh(reader, asking)) !== 'done') return null
    const meets = filtered.meets(memory)
    const groups = withActivity(memory, { window, last }, activity => gather(memory, grouping, { ...activity, meets }))
    const after = groups.filter(isAfter(grouping)).sort(byActivity(grouping))
    const found = after.slice(slice.offset, slice.offset + slice.limit)
    const overlapping = groups.some(group => group.several) ? 1 : 0
    const rows = found.map(group => recordOf(memory, group, overlapping))
    return { rows, costs: costsOf(memory, found.slice(0, pageSize)) }
  })
}

interface Group {
  readonly value: string
  readonly conversations: number[]
  events: number
  day: number
  nanos: number
  /** Some conversation is in several groups. */
  several: boolean
}

function gather(
  memory: OrganizationDays,
  grouping: Grouping,
  { days, nanos, meets }: Activity & { readonly meets: Meets },
): Group[] {
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
  const { events: counts } = memory.settled()
  for (let conversation = 0; conversation < counts.length; conversation++) {
    const number = numbers[conversation] ?? 0
    const day = days[conversation] as number
    const events = counts[conversation] as number
    if (number === 0 || day === 0 || events === 0 || !meets(conversation)) continue
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
  const at = fullTime(after.at)
  return group => {
    const last = timeOf(group)
    if (last === at) return bytewise(group.value, after.id) > 0
    return sort === 'newest' ? last < at : last > at
  }
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

const costsOf = (memory: OrganizationDays, groups: readonly Group[]): ReadonlyMap<string, CostMetadata[]> =>
  withWords(memory.ids.size(), first => {
    const others = new Map<number, number[]>()
    groups.forEach(({ conversations }, i) => {
      for (const conversation of conversations) {
        if (first[conversation] === 0) first[conversation] = i + 1
        else others.set(conversation, [...(others.get(conversation) ?? []), i + 1])
      }
    })
    const keys = groups.map(({ value }) => value)
    return pricesOfKeys(memory, keys, { first, others })
  })
