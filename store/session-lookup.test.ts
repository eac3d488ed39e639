import { randomUUID } from 'node:crypto'
import t from 'tap'
import { openSessionLookup, sessionKeyText } from '#store/session-lookup.ts'
import { freshDatabase } from '#test/rig.ts'

t.test('the captured ones of a batch of conversations are found, under their own organization only', async t => {
  const { url, database, store } = await freshDatabase(t)
  const [organization, other] = [randomUUID(), randomUUID()]
  const captured = Array.from({ length: 50 }, () => randomUUID())
  const values = captured.map(conversation => `('${organization}', '${conversation}', 'sdk')`).join(', ')
  await store.command(`INSERT INTO ${database}.sessions (organization, conversation_id, source) VALUES ${values}`)
  const lookup = openSessionLookup({ url, database, application: 'test' })
  t.teardown(() => lookup.close())

  const keys = [
    ...captured.map(conversation => ({ organization, conversation })),
    ...captured.map(conversation => ({ organization: other, conversation })),
    { organization, conversation: randomUUID() },
  ]
  const found = await lookup.ask(keys)
  t.strictSame([...found].sort(), keys.slice(0, 50).map(sessionKeyText).sort())
  t.equal((await lookup.ask([{ organization: other, conversation: randomUUID() }])).size, 0)
})

t.test('a store that is away is an error, not an absence', async t => {
  const lookup = openSessionLookup({ url: 'http://127.0.0.1:1', database: 'x', application: 'test' })
  t.teardown(() => lookup.close())
  await t.rejects(lookup.ask([{ organization: randomUUID(), conversation: randomUUID() }]))
})
