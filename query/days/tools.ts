// Tools of a window from kept days: whole days from memory, the ragged ones from rows that are kept or read.
import { TOOLS_MAX } from '#proto/dashboard/tools.ts'
import type { Reader } from '../reader.ts'
import { type ToolPeople, type ToolRecord, toolKey } from '../reads/tools.ts'
import type { Window } from '../window.ts'
import { edgesOf, toolsWithin } from './edges.ts'
import type { KeptDays } from './kept.ts'
import { levelsOf } from './levels.ts'
import type { OrganizationDays } from './organization.ts'
import { type ToolDay, type ToolRow, toolOf } from './rows.ts'
import { RAGGED_TOOLS_SQL } from './sql.ts'

/** A tool with its figures and its people: what `readToolFigures` and `readToolPeople` answer. */
export type KeptTool = ToolRecord & Pick<ToolPeople, 'conversations' | 'users' | 'last_at'>

/** In the order in which the store sorts them. */
const KINDS: readonly ToolDay['kind'][] = ['tool', 'resource', 'prompt']

/** Tools by calls, most first, ties by name. Null: they are not kept. */
export function readKeptTools(
  kept: KeptDays,
  reader: Reader,
  { organization, window }: { organization: string; window: Window },
): Promise<KeptTool[] | null> {
  return kept.with(organization, ['tools'], async (memory, asked) => {
    const { from_day, to_day } = window.parameters
    const edges = edgesOf(window)
    const days = edges.map(({ day }) => day)
    const inMemory = memory.keepsRowsOf(days, asked.maxBytes)
    // The edges first, as with figures.
    const ragged = inMemory ? [] : await reader.read<ToolRow>('ragged_tools', RAGGED_TOOLS_SQL, window.parameters)
    if ((await memory.refresh(reader, inMemory ? { ...asked, edges: days } : asked)) !== 'done') return null
    const whole = [...memory.days()].filter(day => day > from_day && day < to_day)
    const calls = [
      ...whole.flatMap(memory.toolsOf),
      ...ragged.map(row => toolOf(memory.ids, row)),
      ...(inMemory ? edges.flatMap(edge => toolsWithin(memory.rowsOf(edge.day), edge, memory.ids.size())) : []),
    ]
    return sortedTools(memory, calls)
  })
}

/** Tools from calls of days, in the order of answers. */
export function sortedTools(memory: OrganizationDays, calls: readonly ToolDay[]): KeptTool[] {
  const counter = createCounter(memory)
  const tools = [...Map.groupBy(calls, toolKey).values()].map(days => sumOf(days, counter))
  return tools
    .filter(tool => tool.calls > 0)
    .sort(byCalls)
    .slice(0, TOOLS_MAX)
}

function sumOf(days: readonly ToolDay[], counter: Counter): KeptTool {
  const total = (of: (day: ToolDay) => number): number => days.reduce((sum, day) => sum + of(day), 0)
  const { kind, name } = days[0] as ToolDay
  const [p50 = -1, p95 = -1, p99 = -1] = levelsOf(days, [0.5, 0.95, 0.99])
  return {
    ...{ kind, name, calls: total(day => day.calls), errors: total(day => day.errors) },
    ...{ timed: String(total(day => day.timed)), us: String(total(day => day.us)) },
    buckets: [p50, p95, p99],
    slowest: days.reduce((most, { buckets }) => Math.max(most, ...Array.from(buckets)), -1),
    ...counter(days),
    last_at: days.reduce((last, day) => (day.last_at > last ? day.last_at : last), ''),
  }
}

type Counter = (days: readonly ToolDay[]) => { conversations: number; users: number }

/** Counts conversations and known users of one tool after the other: who was counted is marked with the number of the tool. */
function createCounter(memory: OrganizationDays): Counter {
  const seen = new Uint32Array(memory.ids.size())
  const usersSeen = new Uint32Array(memory.users.size())
  let tool = 0
  return days => {
    tool++
    const counts = { conversations: 0, users: 0 }
    for (const { conversations } of days) {
      for (let i = 0; i < conversations.length; i++) {
        const conversation = conversations[i] as number
        if (seen[conversation] === tool) continue
        seen[conversation] = tool
        counts.conversations++
        const user = memory.userOf(conversation)
        if (user === 0 || usersSeen[user] === tool) continue
        usersSeen[user] = tool
        counts.users++
      }
    }
    return counts
  }
}

function byCalls(a: KeptTool, b: KeptTool): number {
  if (a.calls !== b.calls) return b.calls - a.calls
  if (a.name !== b.name) return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))
  return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)
}
