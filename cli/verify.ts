// parley verify: recounts the store and says what differs; with --repair it is put right. Looks only, else; safe at any time.
import { parseArgs } from 'node:util'
import { isUuid } from '#proto/ids.ts'
import { compareLedgers, type LedgerReport } from '#store/verify/ledger.ts'
import type { Difference, VerifyReport } from '#store/verify/verify.ts'
import { verifyShards as run } from '#store/verify/verify.ts'
import { openBuckets } from '#streams/apply.ts'
import { readLedger } from '#streams/ledger.ts'
import { readPartitions, readSettled } from '#streams/settled.ts'
import { repairByOwners } from './corrections.ts'
import { openNats, openShards } from './instance.ts'
import { timeOf } from './time.ts'
import { UsageError, VERIFY_USAGE } from './usage.ts'

/** Differences that are shown; `--json` says all that are named. */
const SHOWN = 20

/** Runs `verify`; returns 0 when nothing differs (any more), else 1. */
export async function verify(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      org: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
      repair: { type: 'boolean' },
      ledger: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  })
  if (values.org !== undefined && !isUuid(values.org)) throw new UsageError(`--org must be a uuid\n\n${VERIFY_USAGE}`)
  if (values.ledger && [values.org, values.since, values.until, values.repair].some(one => one !== undefined)) {
    throw new UsageError(`--ledger speaks of whole ranges and repairs nothing\n\n${VERIFY_USAGE}`)
  }
  const [nc, shards] = [await openNats(), await openShards()]
  try {
    const { control, cursors } = await openBuckets(nc)
    const partitions = await readPartitions(control)
    if (values.ledger) {
      const settled = await readSettled(cursors, partitions)
      const ledger = { ...(await readLedger(nc)), settled, tell: (line: string) => console.error(line) }
      return showLedger(await compareLedgers(shards, ledger), values.json ?? false)
    }
    const report = await run(shards, {
      ...(values.org === undefined ? {} : { organization: values.org.toLowerCase() }),
      ...(values.since === undefined ? {} : { fromMs: timeOf('--since', values.since) }),
      ...(values.until === undefined ? {} : { toMs: timeOf('--until', values.until) }),
      ...(values.repair ? { repair: (wrong, tell) => repairByOwners(cursors, partitions, wrong, tell) } : {}),
      settled: () => readSettled(cursors, partitions),
      // Progress is not the answer: it must not stand in what --json prints.
      tell: line => console.error(line),
    })
    if (values.json) console.log(JSON.stringify(report))
    else show(report)
    return report.differences.length === 0 ? 0 : 1
  } finally {
    await Promise.all([nc.close(), shards.close()])
  }
}

function show({ differences, found, rows, compared, unbuilt, missed, seconds }: VerifyReport): void {
  for (const difference of differences.slice(0, SHOWN)) console.log(describe(difference))
  if (differences.length > SHOWN) console.log(`and ${differences.length - SHOWN} more`)
  const repaired = found - differences.length
  if (repaired > 0) console.log(`repaired ${repaired} of ${found}`)
  if (missed > 0) console.log(`${missed} parts were merged away before they could be compared: ask again`)
  if (unbuilt > 0) console.log(`${unbuilt} parts have a projection not built yet; reads take their rows`)
  console.log(
    `${differences.length === 0 ? 'nothing differs' : `${differences.length} differences`}: ${rows} rows at their positions, ` +
      `${compared} projections of parts, ${seconds} s`,
  )
}

/** Says what the ledger says; returns the exit code. */
function showLedger(report: LedgerReport, json: boolean): number {
  const { differences, ranges, events, standing, reversed, repeats, dead, unproven } = report
  if (json) console.log(JSON.stringify(report))
  else {
    for (const { partition, from, to, detail } of differences.slice(0, SHOWN)) {
      console.log(`ledger ${partition} ${from}-${to}: ${detail}`)
    }
    if (differences.length > SHOWN) console.log(`and ${differences.length - SHOWN} more`)
    if (unproven > 0)
      console.log(`${unproven} ranges have fewer rows than recorded, where something was erased or read again`)
    console.log(
      `${differences.length === 0 ? 'nothing differs' : `${differences.length} differences`}: ${ranges} ranges, ${events} events recorded = ` +
        `${standing} that count + ${reversed} taken back; beside them ${repeats} repeats, ${dead} dead letters`,
    )
  }
  return differences.length === 0 ? 0 : 1
}

function describe(difference: Difference): string {
  if (difference.check === 'projection') {
    return `${difference.table}.${difference.projection} of part ${difference.part}: ${difference.detail}`
  }
  return `${difference.check} ${difference.at} of ${difference.organization}: ${difference.detail}`
}
