// What happened in a call -> exchanges: the caller's words and the assistant's answer, with the tool calls made for it.
import type { Happening } from './messages.ts'
import type { ToolGroup } from './tools.ts'
import type { Turn, Word } from './transcript.ts'

/** One exchange. A side that said nothing is '' (the greeting has no caller, a hang-up no assistant). */
export interface Exchange {
  readonly caller: string
  readonly assistant: string
  readonly startedAtMs: number | null
  readonly endedAtMs: number | null
  /** From the end of the caller's words to the beginning of the answer; null when a time is missing. */
  readonly latencyMs: number | null
  readonly toolGroups: readonly ToolGroup[]
  /** Where the words of each side are in the recording, empty where the report doesn't say. */
  readonly callerWords: readonly Word[]
  readonly assistantWords: readonly Word[]
}

/** Cuts a call into exchanges: a new one begins when the caller speaks after the assistant did. */
export function exchangesOf(happenings: readonly Happening[]): Exchange[] {
  const exchanges: Exchange[] = []
  let caller: Turn[] = []
  let assistant: Turn[] = []
  let groups: ToolGroup[] = []
  const close = (): void => {
    if (caller.length + assistant.length + groups.length > 0) exchanges.push(exchangeOf(caller, assistant, groups))
    caller = []
    assistant = []
    groups = []
  }
  for (const { turn, group } of happenings) {
    if (group !== undefined) groups.push(group)
    else if (turn.speaker === 'assistant') assistant.push(turn)
    else {
      if (assistant.length > 0) close()
      caller.push(turn)
    }
  }
  close()
  return exchanges
}

function exchangeOf(caller: readonly Turn[], assistant: readonly Turn[], toolGroups: readonly ToolGroup[]): Exchange {
  const turns = [...caller, ...assistant]
  const starts = [...turns, ...toolGroups].map(entry => entry.startedAtMs).filter(ms => ms !== null)
  const ends = turns.map(turn => turn.endedAtMs ?? turn.startedAtMs).filter(ms => ms !== null)
  const asked = caller.at(-1)?.endedAtMs ?? null
  const answered = assistant[0]?.startedAtMs ?? null
  return {
    caller: caller.map(turn => turn.text).join('\n'),
    assistant: assistant.map(turn => turn.text).join('\n'),
    startedAtMs: starts.length === 0 ? null : starts.reduce((a, b) => Math.min(a, b)),
    endedAtMs: ends.length === 0 ? null : ends.reduce((a, b) => Math.max(a, b)),
    latencyMs: asked === null || answered === null ? null : Math.max(0, answered - asked),
    toolGroups,
    callerWords: caller.flatMap(turn => turn.words ?? []),
    assistantWords: assistant.flatMap(turn => turn.words ?? []),
  }
}
