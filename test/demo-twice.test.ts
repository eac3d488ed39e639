// The demo's stream sent twice: every answer of the dashboard is the same, whatever surface the events came over.
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { cursorKeyOf, streamOf } from '#proto/streams.ts'
import { eventually, startSystem, testLimits } from '#test/rig.ts'
import { planStories } from '../demo/plan.ts'
import { sendStories } from '../demo/send.ts'

const DAY_MS = 86_400_000
const CONVERSATIONS = 30
const now = Date.now()
/** Fixed, so that nothing moves with the clock: the plan ends before today. */
const WINDOW = {
  from: new Date(now - 10 * DAY_MS).toISOString(),
  to: new Date(Math.floor(now / DAY_MS) * DAY_MS).toISOString(),
}
const GROUP = { source: 'user_metadata', key: 'plan' }

const system = await startSystem(t, { env: { PARLEY_INSERT_INTERVAL_MS: '50' } })
const target = { baseUrl: system.baseUrl, otelUrl: system.otelUrl, organization: system.organization }
const jsm = await jetstreamManager(system.nc)

/** Resolves when everything that was acknowledged is behind the floor of its partition. */
const stored = () =>
  eventually(
    'every floor',
    async () => {
      for (let partition = 0; partition < testLimits.partitions; partition++) {
        const { state } = await jsm.streams.info(streamOf(partition))
        const cursor = (await system.buckets.cursors.get(cursorKeyOf(partition)))?.json<{ floor: number }>()
        if ((cursor?.floor ?? 0) < state.last_seq) return false
      }
      return true
    },
    60_000,
  )

/** Resolves when spans, and what was captured with them, are in the conversation that a link names. */
const atHome = () =>
  eventually(
    'every span at home',
    async () => {
      const links = 'SELECT organization, provisional_id FROM links'
      const [row] = await system.store.read<{ n: string }>(`
        SELECT (SELECT sum(sign) FROM events WHERE provisional = 1 AND (organization, conversation_id) IN (${links}))
          + (SELECT count() FROM sessions WHERE (organization, conversation_id) IN (${links})
              AND (origin_partition, origin_generation, origin_sequence, origin_frame, origin_index) NOT IN (
                SELECT origin_partition, origin_generation, origin_sequence, origin_frame, origin_index FROM sessions
                WHERE (organization, conversation_id) IN (SELECT organization, conversation_id FROM links))) AS n`)
      return row?.n === '0'
    },
    60_000,
  )

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${system.queryUrl}/dashboard/api/${path}`, {
    method,
    headers: { 'x-api-key': system.apiKey },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
}

/** Every figure and list of the window, by what was asked. */
async function everything(): Promise<Record<string, unknown>> {
  const questions: [string, object][] = [
    ['dashboard', {}],
    ['user-stories', { page_size: 100 }],
    ['user-stories', { group_by: GROUP }],
    ['raw-logs', { page_size: 200 }],
    ['raw-logs/count', {}],
    ['raw-logs/export', { exclude_io: true }],
    ['errors', { page_size: 200 }],
    ['errors/groups', {}],
    ['tool-stats', {}],
    ['tool-time-series', {}],
    ['tool-error-distribution', {}],
    ['tool-checkpoint-stats', {}],
    ['metadata-distribution', {}],
    ['intent-keywords', {}],
    ['charts/query', { metric: 'cost', group_by: 'model', filters: WINDOW }],
    ['charts/query', { metric: 'p95_latency', filters: WINDOW }],
  ]
  const answers: Record<string, unknown> = {}
  for (const [path, body] of questions) {
    answers[`${path} ${JSON.stringify(body)}`] = await ask('POST', path, { ...WINDOW, ...body })
  }
  for (const path of ['organization/summary', 'organization/event-keys', 'organization/conversation-keys']) {
    answers[path] = await ask('GET', path)
  }
  return answers
}

t.test('the second time changes nothing', async t => {
  const plan = { seed: 'twice', conversations: CONVERSATIONS, users: 12, days: 7 }
  const send = () => sendStories(target, planStories(plan, now), { concurrency: 8, onProgress: () => undefined })
  const first = await send()
  t.strictSame([...first.refused], [])
  await stored()
  await atHome()
  const once = await everything()
  const { total_count } = once['raw-logs/count {}'] as { total_count: number }
  t.ok(total_count >= CONVERSATIONS, `${total_count} events`)
  const again = await send()
  t.strictSame([...again.refused], [])
  t.equal(again.events, first.events, 'the same answers to the sender')
  await stored()
  await atHome()
  const twice = await everything()
  for (const [question, answer] of Object.entries(once)) t.strictSame(twice[question], answer, question)
})
