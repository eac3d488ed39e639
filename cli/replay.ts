// parley replay: reads stored payloads again, with the parsers of now. The owner of a partition does it; this asks for it and
// follows it. Ending this command ends nothing but the following.
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { ReplayRecord } from '#proto/replay.ts'
import { LAYOUT_KEY, streamOf } from '#proto/streams.ts'
import { openBuckets } from '#streams/apply.ts'
import { getReplay, isUnderWay, positionAt, requestReplay, spanOf } from '#streams/replay.ts'
import { openNats } from './instance.ts'
import { timeOf } from './time.ts'
import { REPLAY_USAGE, UsageError } from './usage.ts'

/** Positions of a partition, both ends inclusive. */
export interface Range {
  readonly partition: number
  readonly from: number
  readonly to: number
}

const POLL_MS = 500

/** Runs one `replay` command; returns the exit code. */
export async function replay(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      partition: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
    },
  })
  const byTime = values.since !== undefined
  const byPosition = values.from !== undefined && values.to !== undefined && values.partition !== undefined
  const status = positionals[0] === 'status'
  const isOne = Number(byTime) + Number(byPosition) + Number(status) === 1
  if (!isOne || positionals.length > (status ? 1 : 0)) throw new UsageError(REPLAY_USAGE)
  const nc = await openNats()
  try {
    const { cursors, control } = await openBuckets(nc)
    const layout = (await control.get(LAYOUT_KEY))?.json<{ partitions: number }>()
    const all = Array.from({ length: layout?.partitions ?? 0 }, (_, partition) => partition)
    const chosen = values.partition === undefined ? all : [whole(values.partition, '--partition')]
    if (chosen.some(partition => !all.includes(partition))) throw new UsageError(`there are ${all.length} partitions`)
    if (status) return await showAll(cursors, chosen)
    const ranges = byTime
      ? await rangesOf(nc, chosen, timeOf('--since', values.since as string), timeOf('--until', values.until ?? '0s'))
      : [{ partition: chosen[0] as number, from: whole(values.from, '--from'), to: whole(values.to, '--to') }]
    if (ranges.length === 0) console.log('no partition holds anything of that time')
    const codes = await Promise.all(ranges.map(range => replayRange(cursors, range)))
    return Math.max(0, ...codes)
  } finally {
    await nc.close()
  }
}

/** Asks for a replay and follows it; returns the exit code. */
export async function replayRange(cursors: KV, { partition, from, to }: Range): Promise<number> {
  const { asked, record } = await requestReplay(cursors, partition, { from, to })
  if (!asked) {
    console.error(
      `partition ${partition}: a replay of ${record.from}-${record.to} is under way; ask again when it is done`,
    )
    return 1
  }
  let shown = ''
  for (;;) {
    const last = (await getReplay(cursors, partition))?.record
    if (last && last.id !== record.id) throw new Error(`partition ${partition}: the record was replaced`)
    const line = `partition ${partition}: ${describe(last ?? record)}`
    if (line !== shown) console.log(line)
    shown = line
    if (last && !isUnderWay(last)) return last.state === 'done' ? 0 : 1
    await delay(POLL_MS)
  }
}

/** The ranges of a time, as far as the streams still hold them. */
async function rangesOf(
  nc: NatsConnection,
  partitions: readonly number[],
  since: number,
  until: number,
): Promise<Range[]> {
  if (until < since) throw new UsageError('--until is before --since')
  const jsm = await jetstreamManager(nc)
  const ranges: Range[] = []
  for (const partition of partitions) {
    const stream = streamOf(partition)
    const span = await spanOf(jsm, stream)
    const from = await positionAt(jsm, stream, span, since)
    const to = (await positionAt(jsm, stream, span, until)) - 1
    if (from === span.first && span.first > 1) {
      console.log(`partition ${partition}: what stood before position ${from} is gone from the stream`)
    }
    if (to >= from) ranges.push({ partition, from, to })
  }
  return ranges
}

async function showAll(cursors: KV, partitions: readonly number[]): Promise<number> {
  for (const partition of partitions) {
    const last = await getReplay(cursors, partition)
    console.log(`partition ${partition}: ${last ? describe(last.record) : 'never'}`)
  }
  return 0
}

function describe({ state, from, to, floor, reason, endedAt }: ReplayRecord): string {
  const range = `${from}-${to}`
  switch (state) {
    case 'requested':
      return `${range} requested; waiting for the owner of the partition`
    case 'running':
      return `${range} at ${floor}, ${Math.floor(((floor - from + 1) / (to - from + 1)) * 100)} %`
    case 'done':
      return `${range} done at ${endedAt ?? ''}`
    case 'refused':
      return `${range} refused: ${reason ?? ''}`
    default:
      return `${range} ${String(state satisfies never)}`
  }
}

/** Unix ms of an ISO 8601 time, or of "15m" ago. */
function whole(text: string | undefined, name: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new UsageError(`${name} must be a whole number`)
  return value
}
