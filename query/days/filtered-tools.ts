// Tools of the calls that metadata filters let through: one statement reads the calls, kept days know whose captures meet the filters and
// whom the conversations belong to.
import { type KeyFilter, metadataConditions } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { readCaptured } from './captured.ts'
import type { KeptDays } from './kept.ts'
import { type ToolRow, toolOf } from './rows.ts'
import { filteredToolsSql } from './sql.ts'
import { type KeptTool, sortedTools } from './tools.ts'

/** Conversations of a window, day by day, whose ids a statement may answer; where there are more the store counts them. */
const ANSWERED_MAX = 500_000

/** Tools by calls, most first, ties by name. Null: days are not kept, or the window holds too much. */
export async function readFilteredTools(
  kept: KeptDays,
  reader: Reader,
  { organization, window, filters }: { organization: string; window: Window; filters: readonly KeyFilter[] },
): Promise<KeptTool[] | null> {
  const captured = await readCaptured(kept, reader, { organization, filters })
  const { from_day, to_day } = window.parameters
  const found = await kept.with(organization, ['figures'], async (memory, asked) => {
    if ((await memory.refresh(reader, asked)) !== 'done') return null
    const days = [...memory.days()].filter(day => day >= from_day && day <= to_day)
    return { active: days.reduce((sum, day) => sum + memory.conversationsOf(day).length, 0) }
  })
  if (found === null || found.active > ANSWERED_MAX) return null
  const conditions = metadataConditions(filters, has => has, captured)
  // Other questions have their turn meanwhile.
  const rows = await reader.read<ToolRow>('filtered_tools', filteredToolsSql(conditions), {
    ...conditions.parameters,
    ...window.parameters,
  })
  return kept.with(organization, ['figures'], async (memory, asked) => {
    if ((await memory.refresh(reader, asked)) !== 'done') return null
    return sortedTools(
      memory,
      rows.map(row => memory.toolSumOf(toolOf(memory.ids, row))),
    )
  })
}
