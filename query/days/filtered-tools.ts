// Tools of the calls that metadata filters let through, from kept days. When each was called last is not kept: the store tells it of the
// few hours in which that must have been.
import { sqlMillis } from '#proto/time.ts'
import { boundTo, type KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { toolsWithin } from './edges.ts'
import { kindsOf, passesOf, toldSays } from './filter.ts'
import { createHistogram } from './histogram.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'
import { type PassingDay, readPassing } from './passing.ts'
import { numbersOf, type ToolDay } from './rows.ts'
import { bucketOf, hasFailed } from './said.ts'
import { lastCallsSql } from './said-sql.ts'
import { withWords } from './scratch.ts'
import { sent } from './sent.ts'
import { type KeptTool, sortedTools } from './tools.ts'
import { createUsers } from './users.ts'

const HOUR_S = 3_600
const DAY_S = 86_400

/** What is counted. */
interface AskedTools {
  readonly organization: string
  readonly window: Window
  readonly filters: readonly KeyFilter[]
}

/** Tools by calls, most first, ties by name. Null: they are not kept, or calls were taken back meanwhile. */
export async function readFilteredTools(kept: KeptDays, reader: Reader, asked: AskedTools): Promise<KeptTool[] | null> {
  const { organization, window, filters } = asked
  const kinds = kindsOf(filters)
  if (kinds === null) return null
  const found = await kept.with(
    { organization, reader },
    ['figures', kinds.events, ...kinds.captures],
    async (memory, asked) => {
      const passing = await readPassing(reader, memory, { asked, filters, window, before: null })
      if (passing === null) return null
      await sent()
      const calls = [...callsOf(memory, passing.days)]
      const lasts = await readLastCalls(reader, memory, { window, filters, calls: calls.map(([, one]) => one) })
      const tools = calls.flatMap(([tool, one]) => toolOf(tool, one, lasts.get(tool)) ?? [])
      // Null here would say that days do not fit.
      if (tools.length < calls.length) return { tools: null }
      const atEdges = passing.edges.flatMap(({ rows, edge }) => toolsWithin(rows, edge, memory.ids.size()))
      return { tools: sortedTools(memory, [...tools, ...atEdges].map(memory.toolSumOf)) }
    },
  )
  // The store says it as of now, and nobody less after that.
  if (found?.tools === null) kept.endLoans(organization)
  return found?.tools ?? null
}

/** Calls of one tool. */
interface Calls {
  readonly sum: { calls: number; errors: number; timed: number; us: number; slowest: number }
  /** By group, so that one may come several times. */
  readonly conversations: number[]
  readonly histogram: ReturnType<typeof createHistogram>
  readonly tool: string
  /** The newest day with calls, and the seconds between which the last one stands. */
  readonly day: string
  low: number
  high: number
}

/** Calls by tool, of days in any order. */
function callsOf(memory: OrganizationDays, passing: readonly PassingDay[]): ReadonlyMap<string, Calls> {
  const found = new Map<string, Calls>()
  const newestFirst = passing.toSorted((a, b) => (a.day > b.day ? -1 : 1))
  for (const one of newestFirst) addCalls(memory, one, found)
  return found
}

function addCalls(memory: OrganizationDays, { day, said, passes }: PassingDay, found: Map<string, Calls>): void {
  const { conversations, called, callEntries, callUs } = said
  // By place; a tool gets its calls when the first one passes.
  const tools = said.tools.map(tool => found.get(tool))
  const isNewest = tools.map(tool => tool === undefined || tool.day === day)
  const walk = (extents?: Extents): void => {
    let end = 0
    for (let i = 0; i < conversations.length; i++) {
      const from = end
      end += said.callCounts[i] as number
      const conversation = conversations[i] as number
      if (from === end || !passes(conversation, said.said[i] as number)) continue
      for (let at = from; at < end; at++) {
        const place = (called[at] as number) - 1
        const calls = tools[place] ?? begin(found, said.tools[place] as string, day)
        tools[place] = calls
        const entry = callEntries[at] as number
        const bucket = bucketOf(entry)
        calls.sum.calls++
        if (hasFailed(entry)) calls.sum.errors++
        if (bucket >= 0) calls.sum.timed++
        calls.sum.us += callUs[at] as number
        calls.sum.slowest = Math.max(calls.sum.slowest, callUs[at] as number)
        calls.histogram.add(bucket)
        if (calls.conversations.at(-1) !== conversation) calls.conversations.push(conversation)
        if (isNewest[place] && extents !== undefined) {
          const { first, last } = extents(conversation)
          // The last call is not before the last conversation began, nor after the one that went on longest.
          calls.low = Math.max(calls.low, first)
          calls.high = Math.max(calls.high, last)
        }
      }
    }
  }
  if (isNewest.includes(true)) withExtents(memory, day, walk)
  else walk()
}

function begin(found: Map<string, Calls>, tool: string, day: string): Calls {
  const sum = { calls: 0, errors: 0, timed: 0, us: 0, slowest: 0 }
  const calls = { ...{ sum, conversations: [], histogram: createHistogram() }, tool, day, low: 0, high: 0 }
  found.set(tool, calls)
  return calls
}

/** Between which seconds conversations were active on a day; all of it, where it is not known of one. */
type Extents = (conversation: number) => { first: number; last: number }

const withExtents = (memory: OrganizationDays, day: string, work: (extents: Extents) => void): void =>
  withWords(memory.ids.size(), places => {
    const start = Date.parse(day) / 1000
    const pairs = memory.pairsOf(day)
    pairs?.conversations.forEach((conversation, i) => {
      places[conversation] = i + 1
    })
    const whole = { first: start, last: start + DAY_S - 1 }
    work(conversation => {
      const place = places[conversation] ?? 0
      if (place === 0 || pairs === undefined) return whole
      return { first: pairs.firsts[place - 1] as number, last: pairs.lasts[place - 1] as number }
    })
  })

interface LastCallsRow {
  readonly tool: string
  readonly ids: string
  readonly met: readonly string[]
  /** ISO 8601, all of one length. */
  readonly instants: readonly string[]
}

/** When each tool was called last by a call that passes; what was taken back meanwhile may be missing. */
async function readLastCalls(
  reader: Reader,
  memory: OrganizationDays,
  { window, filters, calls }: { window: Window; filters: readonly KeyFilter[]; calls: readonly Calls[] },
): Promise<ReadonlyMap<string, string>> {
  if (calls.length === 0) return new Map()
  const hours = new Set<number>()
  for (const { low, high } of calls) {
    for (let hour = Math.floor(low / HOUR_S); hour * HOUR_S <= high; hour++) hours.add(hour)
  }
  const rows = await reader.read<LastCallsRow>('filtered_last_calls', lastCallsSql(filters), {
    ...window.parameters,
    ...boundTo(filters),
    tools: calls.map(({ tool }) => tool),
    hours: [...hours].map(hour => sqlMillis(hour * HOUR_S * 1000).slice(0, 19)),
  })
  const texts = createUsers()
  const lasts = rows.map(row => ({
    ...row,
    conversations: numbersOf(memory.ids, row.ids),
    said: texts.numbersOf(row.met),
  }))
  const passes = passesOf(memory, filters, place => toldSays(place, texts.nameOf, texts.size()))
  const lastOf = ({ conversations, said, instants }: (typeof lasts)[number]): string =>
    instants.reduce((last, at, i) => {
      const counts = at > last && passes(conversations[i] as number, said[i] as number)
      return counts ? at : last
    }, '')
  return new Map(lasts.map(row => [row.tool, lastOf(row)]))
}

/** A tool with all that is known of it. */
function toolOf(tool: string, { sum, conversations, histogram }: Calls, last = ''): ToolDay | undefined {
  if (last === '') return undefined
  const space = tool.indexOf(' ')
  return {
    ...{ kind: tool.slice(0, space) as ToolDay['kind'], name: tool.slice(space + 1), ...sum, last_at: last },
    ...{ conversations: Uint32Array.from(conversations), ...histogram.take() },
  }
}
