// parley erase: asks for erasures, says how far they are, and lets an erased user come back.
import { parseArgs } from 'node:util'
import { type ErasureRecord, userHash } from '#proto/erasure.ts'
import { isUuid } from '#proto/ids.ts'
import { openBuckets } from '#streams/apply.ts'
import { getErasure, listErasures, requestErasure } from '#streams/erasures.ts'
import { openNats, openShards } from './instance.ts'
import { ERASE_USAGE, UsageError } from './usage.ts'

/** Runs one `erase` command; returns the exit code. */
export async function erase(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { org: { type: 'string' } },
  })
  const [command, user] = positionals
  const organization = values.org?.toLowerCase()
  if (organization !== undefined && !isUuid(organization)) throw new UsageError('--org must be a uuid')
  const named = command === 'user' || command === 'lift'
  // `erase user Ada Lovelace` would be the end of somebody called Ada.
  const isWhole = positionals.length === (named ? 2 : 1)
  if (!isWhole || !(named ? user && organization : command === 'organization' ? organization : command === 'status')) {
    throw new UsageError(ERASE_USAGE)
  }
  const nc = await openNats()
  try {
    const { cursors } = await openBuckets(nc)
    if (command === 'status') {
      const found = await listErasures(cursors, organization)
      for (const { record } of found) console.log(describe(record))
      if (found.length === 0) console.log('nothing was erased')
      return 0
    }
    const org = organization as string
    if (command === 'lift') {
      const found = await getErasure(cursors, org, userHash(org, user as string))
      if (found && found.record.state !== 'done')
        throw new UsageError('the erasure is under way: it has to be done first')
      return await lift(org, user as string)
    }
    const request = { organization: org, by: 'operator', nowMs: Date.now() }
    const record = await requestErasure(
      cursors,
      command === 'user' ? { ...request, kind: 'user', user: user as string } : { ...request, kind: 'organization' },
    )
    console.log(describe(record))
    return 0
  } finally {
    await nc.close()
  }
}

/** Takes the tombstones of a user away, with those of its conversations. */
async function lift(organization: string, user: string): Promise<number> {
  const shards = await openShards()
  try {
    const store = shards.of(organization)
    const parameters = { organization, subject: userHash(organization, user) }
    const erasures = `SELECT erasure FROM ${store.database}.erased
      WHERE organization = {organization:UUID} AND kind = 'user' AND subject = {subject:String}`
    const found = await store.read<{ erasure: string }>(erasures, { parameters })
    if (found.length === 0) {
      console.log('no such tombstone')
      return 1
    }
    const ids = [...new Set(found.map(({ erasure }) => erasure))]
    await store.command(
      'ALTER TABLE erased DELETE WHERE organization = {organization:UUID} AND erasure IN {ids:Array(UUID)}',
      {
        parameters: { organization, ids },
        settings: { mutations_sync: '2' },
      },
    )
    console.log('lifted: what arrives from now on stays')
    return 0
  } finally {
    await shards.close()
  }
}

function describe({ organization, kind, subject, state, requested_at, step, erased }: ErasureRecord): string {
  const what = kind === 'user' ? `user ${subject.slice(0, 12)} of ${organization}` : `organization ${organization}`
  const rows = Object.entries(erased).map(([table, n]) => `${n} ${table}`)
  return [`${requested_at.slice(0, 19)}Z  ${what}  ${state}`, ...rows, ...(step === '' ? [] : [step])].join(', ')
}
