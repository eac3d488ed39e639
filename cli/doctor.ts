// parley doctor: looks at engines, schema, disk, streams, owners and counts, and says of each what is wrong and what to do. Changes nothing.
import { parseArgs } from 'node:util'
import { unreadNames } from '#runtime/unread.ts'
import { openBuckets } from '#streams/apply.ts'
import { readLayout, requireShards } from '#streams/layout.ts'
import { readPartitions } from '#streams/settled.ts'
import { engines, storeEngines } from './doctor/engines.ts'
import type { Finding, Patient } from './doctor/finding.ts'
import { pipeline } from './doctor/pipeline.ts'
import { openNats, openShards } from './instance.ts'

const MARKS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' } as const

/** Runs `doctor`; returns 0 when nothing fails, else 1. */
export async function doctor(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { json: { type: 'boolean' } } })
  const [nc, shards] = [await openNats(), await openShards()]
  try {
    const { control, cursors, leases } = await openBuckets(nc)
    const partitions = await readPartitions(control)
    requireShards((await readLayout(control)) ?? { shards: 1 }, shards.all.length)
    const findings: Finding[] = [await settings(process.env)]
    for (const [i, store] of shards.all.entries()) {
      const patient: Patient = { nc, store, control, cursors, leases, partitions }
      const looks = i === 0 ? [...engines, ...pipeline] : storeEngines
      for (const look of looks) {
        const found = await looked(look, patient)
        findings.push(i === 0 ? found : { ...found, check: `${found.check}, shard ${i + 1}` })
      }
    }
    if (values.json) console.log(JSON.stringify({ healthy: findings.every(isWell), findings }))
    else show(findings)
    return findings.every(isWell) ? 0 : 1
  } finally {
    await Promise.all([nc.close(), shards.close()])
  }
}

const isWell = ({ state }: Finding): boolean => state !== 'fail'

/** What cannot be looked at is a finding, too. */
async function looked(look: (patient: Patient) => Promise<Finding>, patient: Patient): Promise<Finding> {
  try {
    return await look(patient)
  } catch (error) {
    return {
      check: look.name,
      state: 'fail',
      said: `cannot be looked at: ${String(error)}`,
      fix: 'see the logs of the engines',
    }
  }
}

function show(findings: readonly Finding[]): void {
  for (const { check, state, said, fix } of findings) {
    console.log(`${MARKS[state]}  ${check}: ${said}`)
    if (fix !== undefined) console.log(`      ${fix}`)
  }
}

/** Names that are set and that nothing reads are mistakes of typing. */
async function settings(env: NodeJS.ProcessEnv): Promise<Finding> {
  const { set, unread } = await unreadNames(env)
  if (unread.length === 0) return { check: 'settings', state: 'ok', said: `${set.length} set here, all known` }
  const said = `nothing reads ${unread.join(', ')}`
  return { check: 'settings', state: 'warn', said, fix: 'correct the name: README.md lists all settings' }
}
