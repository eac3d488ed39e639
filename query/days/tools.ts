// Tools of a window from kept days: whole days from memory, the ragged ones from rows that are kept or read.
import { TOOLS_MAX } from '#proto/dashboard/tools.ts'
import type { Reader } from '../reader.ts'
import { type ToolPeople, type ToolRecord, toolKey } from '../reads/tools.ts'
import type { Window } from '../window.ts'
import { createMarks } from './bits.ts'
import { edgesOf, toolsWithin } from './edges.ts'
import type { KeptDays } from './kept.ts'
import { levelsOf } from './levels.ts'
import { asOfNow, type OrganizationDays } from './organization.ts'
import { type ToolDay, type ToolRow, toolOf } from './rows.ts'
import { sent } from './sent.ts'
import { RAGGED_TOOLS_SQL } from './sql.ts'
import { type ToolSum, together } from './tool-months.ts'

/** A tool with its figures and its people: what `readToolFigures` and `readToolPeople` answer. */
export type KeptTool = ToolRecord & Pick<ToolPeople, 'conversations' | 'users' | 'slowest' | 'last_at'>

/** In the order in which the store sorts them. */
const KINDS: readonly ToolDay['kind'][] = ['tool', 'resource', 'prompt']

/** Tools by calls, most first, ties by name. Null: they are not kept. */
export function readKeptTools(
  kept: KeptDays,
  reader: Reader,
  { organization, window }: { organization: string; window: Window },
): Promise<KeptTool[] | null> {
  return kept.with({ organization, reader }, ['tools'], async (memory, asked) => {
    const { from_day, to_day } = window.parameters
    const edges = edgesOf(window)
    const days = edges.map(({ day }) => day)
    const inMemory = memory.keepsRowsOf(days, asked.maxBytes)
    // The edges first, as with figures.
    const ragged = inMemory ? [] : await reader.read<ToolRow>('ragged_tools', RAGGED_TOOLS_SQL, window.parameters)
    if ((await memory.refresh(reader, inMemory ? { ...asked, edges: days } : asOfNow(memory, asked))) !== 'done')
      return null
    await sent()
    const whole = [...memory.days()].filter(day => day > from_day && day < to_day).sort()
    const atEdges = inMemory
      ? edges.flatMap(edge => toolsWithin(memory.rowsOf(edge.day), edge, memory.ids.size()))
      : ragged.map(row => toolOf(memory.ids, row))
    return sortedTools(memory, [...memory.toolSumsOf(whole), ...atEdges.map(memory.toolSumOf)])
  })
}

/** Tools from calls of days, in the order of answers. */
export function sortedTools(memory: OrganizationDays, calls: readonly ToolSum[]): KeptTool[] {
  const counter = createCounter(memory)
  const tools = [...Map.groupBy(calls, toolKey).values()].map(some => sumOf(some, counter))
  return tools
    .filter(tool => tool.calls > 0)
    .sort(byCalls)
    .slice(0, TOOLS_MAX)
}

function sumOf(some: readonly ToolSum[], counter: Counter): KeptTool {
  const { timed, us, buckets, counts, ...sums } = together(some)
  const [p50 = -1, p95 = -1, p99 = -1] = levelsOf([{ buckets, counts }], [0.5, 0.95, 0.99])
  return {
    ...{ ...sums, timed: String(timed), us: String(us), buckets: [p50, p95, p99] },
    ...counter(some),
  }
}

type Counter = (some: readonly ToolSum[]) => { conversations: number; users: number }

/** Counts conversations and known users of one tool after the other. */
function createCounter(memory: OrganizationDays): Counter {
  const conversations = createMarks(memory.ids.size())
  const users = createMarks(memory.users.size())
  return some => {
    conversations.clear()
    users.clear()
    for (const { mark } of some) mark(conversations, users)
    // Number 0 is nobody.
    return { conversations: conversations.count(), users: users.count() - (users.has(0) ? 1 : 0) }
  }
}

function byCalls(a: KeptTool, b: KeptTool): number {
  if (a.calls !== b.calls) return b.calls - a.calls
  if (a.name !== b.name) return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))
  return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)
}
