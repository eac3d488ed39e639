// parley rebuild: builds everything that the store derives from its rows again, bucket by bucket, and compares each bucket with its rows
// afterwards. What is done stands in a record, so that a call that was ended is gone on with.
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { KV } from '@nats-io/kv'
import { isUuid } from '#proto/ids.ts'
import { REBUILD_KEY, type RebuildRecord } from '#proto/rebuild.ts'
import type { Store } from '#store/client.ts'
import { compareProjections } from '#store/verify/projections.ts'
import {
  type Bucket,
  bucketsOf,
  estimateSeconds,
  pieceName,
  pieceOf,
  piecesOf,
  rebuildPiece,
} from '#store/verify/rebuild.ts'
import type { VerifyScope } from '#store/verify/scope.ts'
import { openBuckets } from '#streams/apply.ts'
import { openNats, openStore } from './instance.ts'
import { timeOf } from './time.ts'
import { REBUILD_USAGE, UsageError } from './usage.ts'

interface Found {
  readonly record: RebuildRecord
  readonly revision: number
}

/** Runs one `rebuild` command; returns 0 when everything stands as its rows say, else 1. */
export async function rebuild(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      org: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
      'dry-run': { type: 'boolean' },
      resume: { type: 'boolean' },
      anew: { type: 'boolean' },
    },
  })
  const status = positionals[0] === 'status'
  if (positionals.length > (status ? 1 : 0)) throw new UsageError(REBUILD_USAGE)
  if (values.org !== undefined && !isUuid(values.org)) throw new UsageError(`--org must be a uuid\n\n${REBUILD_USAGE}`)
  const scope: VerifyScope = {
    ...(values.org === undefined ? {} : { organization: values.org.toLowerCase() }),
    ...(values.since === undefined ? {} : { fromMs: timeOf('--since', values.since) }),
    ...(values.until === undefined ? {} : { toMs: timeOf('--until', values.until) }),
  }
  const nc = await openNats()
  try {
    const { cursors } = await openBuckets(nc)
    const last = await readRecord(cursors)
    if (status) {
      console.log(last === null ? 'never' : describe(last.record))
      return 0
    }
    const store = await openStore()
    try {
      if (values['dry-run']) return await dryRun(store, scope)
      const found = values.resume ? resumed(last) : await begin(store, cursors, scope, values.anew ? 'anew' : '', last)
      return await work(store, cursors, found)
    } finally {
      await store.close()
    }
  } finally {
    await nc.close()
  }
}

function resumed(last: Found | null): Found {
  if (last?.record.state !== 'running') throw new UsageError('there is nothing to go on with')
  return last
}

async function begin(store: Store, cursors: KV, scope: VerifyScope, how: string, last: Found | null): Promise<Found> {
  if (last?.record.state === 'running' && how !== 'anew') {
    throw new UsageError(`not finished: ${describe(last.record)}\n--resume goes on with it, --anew begins another one`)
  }
  const pieces = piecesOf(await bucketsOf(store, scope)).map(pieceName)
  const record: RebuildRecord = {
    ...{ id: randomUUID(), state: 'running', ...scope, pieces, done: 0 },
    ...{ differences: [], startedAt: new Date().toISOString() },
  }
  return write(cursors, { record, revision: last?.revision ?? 0 }, record)
}

async function work(store: Store, cursors: KV, begun: Found): Promise<number> {
  let found = begun
  const { pieces } = begun.record
  for (let done = found.record.done; done < pieces.length; done++) {
    const piece = pieceOf(pieces[done] as string)
    await rebuildPiece(store, piece, line => console.error(line))
    console.log(`${pieces[done]}: built again, ${done + 1} of ${pieces.length}`)
    const next = pieces[done + 1]
    const bucketEnds = next === undefined || !next.startsWith(`${piece.table}/${piece.partitionId}/`)
    const differences = bucketEnds ? await compare(store, piece) : []
    const record = { ...found.record, done: done + 1, differences: [...found.record.differences, ...differences] }
    found = await write(cursors, found, record)
  }
  found = await write(cursors, found, { ...found.record, state: 'done', endedAt: new Date().toISOString() })
  console.log(describe(found.record))
  return found.record.differences.length === 0 ? 0 : 1
}

/** What of a bucket isn't as its rows say. */
async function compare(
  store: Store,
  { table, partitionId }: { table: string; partitionId: string },
): Promise<string[]> {
  const report = await compareProjections(store, { tables: [table], partitionIds: [partitionId] })
  const bucket = `${table}/${partitionId}`
  console.log(`${bucket}: ${report.compared} projections of parts compared, ${report.differences.length} differ`)
  return report.differences.map(({ projection, part, detail }) => `${bucket}/${projection} of ${part}: ${detail}`)
}

async function dryRun(store: Store, scope: VerifyScope): Promise<number> {
  const buckets = await bucketsOf(store, scope)
  for (const bucket of buckets) console.log(size(bucket))
  const seconds = await estimateSeconds(store, buckets)
  const largest = Math.max(0, ...buckets.map(({ derivedBytes }) => derivedBytes))
  const pieces = piecesOf(buckets).length
  console.log(
    `${buckets.length} buckets, ${pieces} pieces, about ${Math.ceil(seconds)} s of reading; writes at most ${mebibytes(largest)} beside what is ` +
      'there at a time',
  )
  return 0
}

const size = ({ table, partitionId, rows, bytes, derivedBytes }: Bucket): string =>
  `${table}/${partitionId}: ${rows} rows, ${mebibytes(bytes)}, of that ${mebibytes(derivedBytes)} derived`
const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

function describe({ state, organization, pieces, done, differences, startedAt, endedAt }: RebuildRecord): string {
  const whose = organization === undefined ? '' : ` of ${organization}`
  const times = `begun at ${startedAt.slice(0, 19)}Z${endedAt === undefined ? '' : `, done at ${endedAt.slice(0, 19)}Z`}`
  const wrong =
    differences.length === 0 ? 'nothing differs' : `${differences.length} differ: ${differences.slice(0, 5).join('; ')}`
  return `rebuild${whose} ${state}: ${done} of ${pieces.length} pieces, ${wrong}; ${times}`
}

async function readRecord(cursors: KV): Promise<Found | null> {
  const entry = await cursors.get(REBUILD_KEY)
  return entry?.operation === 'PUT' ? { record: entry.json<RebuildRecord>(), revision: entry.revision } : null
}

/** @throws UsageError when another call has written meanwhile. */
async function write(cursors: KV, { revision }: Found, record: RebuildRecord): Promise<Found> {
  const written = await cursors.put(REBUILD_KEY, JSON.stringify(record), { previousSeq: revision }).catch(error => {
    throw new UsageError('another call goes on with the rebuild', { cause: error })
  })
  return { record, revision: written }
}
