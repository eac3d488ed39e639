// `parley erase` from outside: asked for, followed, lifted. What erasing does is tested where it is done.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { type ErasureRecord, erasureKeyOf, userHash } from '#proto/erasure.ts'
import { openBuckets } from '#streams/apply.ts'
import { getErasure, listErasures } from '#streams/erasures.ts'
import { commandOf, ends } from '#test/command.ts'
import { connectNats, freshDatabase, startNats } from '#test/rig.ts'

t.test('an erasure is asked for, told and lifted', async t => {
  const [nats, db] = await Promise.all([startNats(t), freshDatabase(t)])
  const { cursors } = await openBuckets(await connectNats(t, nats.url))
  const organization = randomUUID()
  const engines = { NATS_URL: nats.url, CLICKHOUSE_URL: db.url, PARLEY_DATABASE: db.database }
  const parley = commandOf(engines, 'erase')
  ends(t, await parley('status'), { code: 0, out: 'nothing was erased' })
  ends(t, await parley('user', 'ada', '--org', organization), { code: 0, out: 'requested' })
  ends(t, await parley('status', '--org', organization), { code: 0, out: `of ${organization}  requested` })
  ends(t, await parley('lift', 'ada', '--org', organization), { code: 2, err: 'under way' })

  const subject = userHash(organization, 'ada')
  const record = (await getErasure(cursors, organization, subject))?.record as ErasureRecord
  await cursors.put(erasureKeyOf(organization, subject), JSON.stringify({ ...record, state: 'done' }))
  await db.store.command(
    "INSERT INTO erased SELECT {organization:UUID}, 'user', {subject:String}, {erasure:UUID}, now64(3)",
    { parameters: { organization, subject, erasure: record.id }, settings: { async_insert: 0 } },
  )
  ends(t, await parley('lift', 'ada', '--org', organization), { code: 0, out: 'lifted' })
  t.strictSame(await db.store.read('SELECT * FROM erased'), [])
  ends(t, await parley('lift', 'ada', '--org', organization), { code: 1, out: 'no such tombstone' })
  const before = await listErasures(cursors, organization)
  for (const args of [
    ['user', 'Grace', 'Hopper'],
    ['organization', randomUUID()],
    ['lift', 'a', 'b'],
    ['status', 'grace'],
  ]) {
    ends(t, await parley(...args, '--org', organization), { code: 2, err: 'parley erase user ID' }, args.join(' '))
  }
  t.strictSame(await listErasures(cursors, organization), before, 'nobody is erased by half a name')
  ends(t, await parley('user', 'ada'), { code: 2, err: 'parley erase user ID' })
  ends(t, await parley('status', '--org', 'mine'), { code: 2, err: '--org must be a uuid' })
})
