// `parley erase` from outside: asked for, followed, lifted. What erasing does is tested where it is done.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { type ErasureRecord, erasureKeyOf, userHash } from '#proto/erasure.ts'
import { openBuckets } from '#streams/apply.ts'
import { getErasure, listErasures } from '#streams/erasures.ts'
import { connectNats, freshDatabase, nodeEnv, startNats } from '#test/rig.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))
const run = promisify(execFile)

t.test('an erasure is asked for, told and lifted', async t => {
  const [nats, db] = await Promise.all([startNats(t), freshDatabase(t)])
  const { cursors } = await openBuckets(await connectNats(t, nats.url))
  const organization = randomUUID()
  const parley = async (...args: string[]): Promise<{ code: number; out: string; err: string }> => {
    const env = {
      PATH: process.env.PATH,
      ...nodeEnv,
      NATS_URL: nats.url,
      CLICKHOUSE_URL: db.url,
      PARLEY_DATABASE: db.database,
    }
    return run(process.execPath, [main, 'erase', ...args], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        code: error.code,
        out: error.stdout,
        err: error.stderr,
      }),
    )
  }
  t.match(await parley('status'), { code: 0, out: 'nothing was erased' })
  t.match(await parley('user', 'ada', '--org', organization), { code: 0, out: 'requested' })
  t.match(await parley('status', '--org', organization), { code: 0, out: `of ${organization}  requested` })
  t.match(await parley('lift', 'ada', '--org', organization), { code: 2, err: 'under way' })

  const subject = userHash(organization, 'ada')
  const record = (await getErasure(cursors, organization, subject))?.record as ErasureRecord
  await cursors.put(erasureKeyOf(organization, subject), JSON.stringify({ ...record, state: 'done' }))
  await db.store.command(
    "INSERT INTO erased SELECT {organization:UUID}, 'user', {subject:String}, {erasure:UUID}, now64(3)",
    { parameters: { organization, subject, erasure: record.id }, settings: { async_insert: 0 } },
  )
  t.match(await parley('lift', 'ada', '--org', organization), { code: 0, out: 'lifted' })
  t.strictSame(await db.store.read('SELECT * FROM erased'), [])
  t.match(await parley('lift', 'ada', '--org', organization), { code: 1, out: 'no such tombstone' })
  const before = await listErasures(cursors, organization)
  for (const args of [
    ['user', 'Grace', 'Hopper'],
    ['organization', randomUUID()],
    ['lift', 'a', 'b'],
    ['status', 'grace'],
  ]) {
    t.match(await parley(...args, '--org', organization), { code: 2, err: 'parley erase user ID' }, args.join(' '))
  }
  t.strictSame(await listErasures(cursors, organization), before, 'nobody is erased by half a name')
  t.match(await parley('user', 'ada'), { code: 2, err: 'parley erase user ID' })
  t.match(await parley('status', '--org', 'mine'), { code: 2, err: '--org must be a uuid' })
})
