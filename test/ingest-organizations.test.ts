// What happened to organizations a moment ago, as receivers see it while events flow: a running one hears of it, one that is started anew
// knows it before it takes its first request, and none of them asks anybody when a request comes.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createOrganization, putOrganization } from '#control/admin.ts'
import { openBuckets } from '#streams/apply.ts'
import type { Receiver } from '#test/receiver-rig.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually } from '#test/rig.ts'

const SENDERS = 4
const [SESSION, EVENT] = ['/api/v1/capture-session', '/api/v1/capture-event']

async function send({ baseUrl }: Receiver, organization: string, path: string, body: string): Promise<number> {
  const headers = { 'x-org-id': organization, 'content-type': 'application/json' }
  const answer = await fetch(baseUrl + path, { method: 'POST', headers, body })
  await answer.arrayBuffer()
  return answer.status
}

const session = (session_id: string): string => JSON.stringify({ session_id, client_config: 'x' })
const event = (session_id: string): string =>
  JSON.stringify({ session_id, event_id: randomUUID(), primitive_name: 'agent' })
/** What only an organization that may send is told to be wrong, and whose answer needs no engine. */
const BROKEN = '{"session_id":'

t.test('made and closed a moment ago, under load', async t => {
  const system = await startReceiverSystem(t)
  const { control } = await openBuckets(system.nc)
  const closing = await createOrganization(control, { name: 'closing' })
  const running = await system.startReceiver()
  const session_id = randomUUID()
  t.equal(await send(running, system.organization, SESSION, session(session_id)), 200)
  t.equal(await send(running, closing.id, SESSION, session(randomUUID())), 200)

  const receivers = [running]
  const answers = new Map<number, number>()
  let flowing = true
  const senders = Array.from({ length: SENDERS }, async (_, number) => {
    for (let i = number; flowing; i++) {
      const receiver = receivers[i % receivers.length] as Receiver
      const status = await send(receiver, system.organization, EVENT, event(session_id))
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  })
  const sent = (): number => [...answers.values()].reduce((sum, count) => sum + count, 0)

  const created = await createOrganization(control, { name: 'created' })
  await putOrganization(control, { ...closing, active: false })
  // Nothing is waited for: whatever was written before it started is known to it when it listens.
  const anew = await system.startReceiver()
  t.equal(await send(anew, created.id, SESSION, session(randomUUID())), 200, 'the new receiver takes the new one')
  t.equal(await send(anew, closing.id, SESSION, session(randomUUID())), 401, 'and refuses the closed one')
  await eventually('the running one to take it', async () => (await send(running, created.id, EVENT, BROKEN)) === 400)
  await eventually('and to refuse', async () => (await send(running, closing.id, EVENT, BROKEN)) === 401)
  t.equal(await send(running, created.id, SESSION, session(randomUUID())), 200)

  // Both under load, and changes of others beside it.
  receivers.push(anew)
  const before = sent()
  for (let i = 0; i < 20; i++) await putOrganization(control, { ...created, name: `renamed ${i}` })
  await eventually('more events', () => sent() > before + 5 * SENDERS)
  flowing = false
  await Promise.all(senders)
  t.strictSame([...answers.keys()], [200], JSON.stringify([...answers]))

  // With nobody left to be asked they still know.
  await system.nats.kill9()
  for (const receiver of receivers) {
    const f = async (organization: string, expected: number, message: string) =>
      t.equal(await send(receiver, organization, EVENT, BROKEN), expected, message)
    await f(system.organization, 400, 'an organization that may send is told what is wrong')
    await f(created.id, 400, 'the new one, too')
    await f(closing.id, 401, 'the closed one is refused')
    await f(system.inactive, 401, 'as is one that never was open')
    await f(randomUUID(), 401, 'and one that does not exist')
  }
  await system.nats.restart()
})
