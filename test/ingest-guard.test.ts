// A disk that is nearly full: receivers refuse before an engine meets the end of it, and take again as soon as there is room.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { putGuard } from '#control/admin.ts'
import { post } from '#test/http.ts'
import { eventually, startSystem } from '#test/rig.ts'

t.test('while the guard says full, senders are told to come again, and bad bodies what is wrong with them', async t => {
  const system = await startSystem(t, { processors: 0 })
  const send = (body: unknown) =>
    post<{ error?: string }>(`${system.baseUrl}/api/v1/capture-session`, body, { 'x-org-id': system.organization })
  const session = () => ({ session_id: randomUUID(), user_data: { user_id: 'ada' } })
  t.equal((await send(session())).status, 200)

  await putGuard(system.buckets.control, { disk: 'full', free_percent: 3, at: new Date().toISOString() })
  const refused = await eventually('a refusal', async () => {
    const answer = await send(session())
    return answer.status === 503 ? answer : undefined
  })
  t.match(refused.body.error, 'disk')
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal((await send({ session_id: 'x' })).status, 400)
  const ready = await fetch(`${system.baseUrl}/readyz`)
  t.equal(ready.status, 503)
  t.match(await ready.text(), 'the disk is nearly full')

  await putGuard(system.buckets.control, { disk: 'ok', free_percent: 30, at: new Date().toISOString() })
  await eventually('to be taken again', async () => (await send(session())).status === 200)
})
