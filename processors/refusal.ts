// What to do when the store says that a block's data can never be stored: find the frames that carry it, so that only they are
// dead. A refusal of everything is not the data's fault (the table differs from what this build writes) and kills nothing.
import { NIL_UUID } from '#proto/ids.ts'
import type { BlockTable, EventRow, LinkRow, Origin, SessionRow, TextRow } from '#proto/rows.ts'
import type { Store } from '#store/client.ts'
import { bisect } from './bisect.ts'
import { Stopped } from './cursor.ts'
import type { BlockEncoder } from './encoder.ts'
import { createEncoder } from './encoder.ts'
import { probeBody } from './insert.ts'
import { scopeOf } from './lanes.ts'
import { Backoff } from './pause.ts'
import { framesOf, type ParsePool } from './pool.ts'
import type { Prepared } from './prepare.ts'
import type { BlockRecipe, DeadFrame } from './protocol.ts'
import type { ReadingSettings } from './readings.ts'

/** What the search works with. `reading`: how the recipe was read. */
interface RefusalTools {
  readonly store: Store
  readonly pool: ParsePool
  readonly partition: number
  readonly signal: AbortSignal
  readonly reading: ReadingSettings
}

/**
 * The frames whose rows the store refuses, each alone; none when the refusal is not theirs.
 * @throws Stopped.
 */
export async function findRefused(
  { store, pool, partition, signal, reading }: RefusalTools,
  prepared: Prepared,
  index: number,
): Promise<DeadFrame[]> {
  const block = prepared.intent.blocks[index] as BlockRecipe
  const probe = async (body: Uint8Array): Promise<unknown> => {
    const backoff = new Backoff()
    for (;;) {
      if (signal.aborted) throw new Stopped()
      const outcome = await probeBody(store, block.table, body, signal)
      if (outcome.is === 'inserted') return undefined
      if (outcome.is === 'refused') return outcome.error
      await backoff.pause(signal)
    }
  }
  if ((await probe(controlBody(block.table))) !== undefined) return []
  const known = new Set(prepared.intent.dead.map(dead => `${dead.sequence}/${dead.frame}`))
  const reasons = new Map<string, string>()
  await bisect(
    framesOf(prepared.messages).filter(key => !known.has(key)),
    async frames => {
      const { generation, classes, dead } = prepared.intent
      const { messages } = prepared
      const scope = scopeOf(prepared.intent)
      const request = { messages, partition, generation, classes, reading, dead, ...scope, repeats: [], frames }
      const parsed = await pool.parse({ ...request, judge: () => [], undo: () => {}, signal })
      if (!('blocks' in parsed)) return false
      for (const { table, body } of parsed.blocks) {
        if (table !== block.table) continue
        const error = await probe(body)
        if (error === undefined) continue
        if (frames.length === 1) reasons.set(frames[0] as string, messageOf(error).slice(0, 160))
        return true
      }
      return false
    },
  )
  return [...reasons].map(([key, reason]) => {
    const [sequence, frame] = key.split('/').map(Number) as [number, number]
    return { sequence, frame, code: 'DEAD_REFUSED', reason }
  })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'no reason given'
}

/** A row that any table of this build takes. */
function controlBody(table: BlockTable): Uint8Array {
  const encoder = createEncoder()
  addControl[table](encoder)
  return (encoder.finish()[0] as { body: Uint8Array }).body
}

const origin: Origin = {
  origin_partition: 0,
  origin_generation: 0,
  origin_sequence: 0,
  origin_frame: 0,
  origin_index: 0,
}

const session: SessionRow = {
  organization: NIL_UUID,
  conversation_id: NIL_UUID,
  session_id: '',
  source: 'sdk',
  user_id: '',
  user_email: '',
  user_data: { a: 'b' },
  metadata: { a: 'b' },
  client_config: '',
  connection_type: '',
  ip: '',
  tools: ['a'],
  started_at: '2026-01-01 00:00:00.000',
  recording_url: '',
  received_at: '2026-01-01 00:00:00.000',
  retention: 0,
  report: '',
}

const text: TextRow = {
  organization: NIL_UUID,
  group_id: NIL_UUID,
  event_id: NIL_UUID,
  ts: '2026-01-01 00:00:00.000000000',
  input: '',
  output: '',
  content: { a: 'b' },
  retention: 0,
}

const link: LinkRow = {
  organization: NIL_UUID,
  trace_id: NIL_UUID,
  provisional_id: NIL_UUID,
  conversation_id: NIL_UUID,
  session_id: '',
  depth: 0,
  started_at: '2026-01-01 00:00:00.000000000',
  span_id: '0',
  retention: 0,
}

const event: EventRow = {
  organization: NIL_UUID,
  conversation_id: NIL_UUID,
  session_id: '',
  event_id: NIL_UUID,
  parent_id: NIL_UUID,
  trace_id: NIL_UUID,
  span_id: '0',
  parent_span_id: '0',
  ts: '2026-01-01 00:00:00.000000000',
  duration_ns: -1,
  latency_bucket: -1,
  source: 'sdk',
  kind: 'agent',
  name: '',
  failed: 0,
  error_type: '',
  error_message: '',
  user_id: '',
  provisional: 0,
  model: '',
  provider: '',
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  cost_nanos: 0,
  present: 0,
  input_preview: '',
  output_preview: '',
  input_bytes: 0,
  output_bytes: 0,
  metadata: { a: 'b' },
  checkpoints: '',
  received_at: '2026-01-01 00:00:00.000',
  retention: 0,
}

const addControl: Readonly<Record<BlockTable, (encoder: BlockEncoder) => void>> = {
  sessions: encoder => encoder.add('sessions', session, origin),
  texts: encoder => encoder.add('texts', text, origin),
  links: encoder => encoder.add('links', link, origin),
  events: encoder => encoder.add('events', event, origin),
}
