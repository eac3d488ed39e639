// kill -9 of processors, of ClickHouse and of NATS at random instants while payloads arrive: every acknowledged payload is there
// exactly once, in rows, in texts, in sessions and in every projection.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { subjectOf } from '#proto/streams.ts'
import { applyStreams } from '#streams/apply.ts'
import {
  connectNats,
  eventually,
  freshDatabase,
  startClickHouse,
  startNats,
  startPart,
  type TestPart,
  testLimits,
} from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { allEqual, countsOf, envelopeOf, someEvents, type TestEvent } from './fixture.ts'

/** Of each processor; the engines die four times beside it. */
const KILLS_EACH = scaled({ sample: 3, full: 9 })
const EVENTS_AN_ENVELOPE = 20
/** Between the envelopes of a partition. */
const PAUSE_MS = scaled({ sample: 400, full: 10 })

t.test(
  'whatever is killed, whenever: what was acknowledged is stored exactly once',
  { timeout: 1_200_000 },
  async t => {
    const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t)])
    const { store, database } = await freshDatabase(t, clickhouse.url, { copied: true })
    const nc = await connectNats(t, nats.url, { hasty: true })
    await applyStreams(nc, testLimits)
    const env = {
      NATS_URL: nats.url,
      CLICKHOUSE_URL: clickhouse.url,
      PARLEY_DATABASE: database,
      PARLEY_INSERT_INTERVAL_MS: '20',
      PARLEY_LOG_LEVEL: 'warn',
      PARLEY_PARSE_THREADS: '2',
    }

    // A receiver in small: an envelope is sent again under its id until the stream has it.
    const js = jetstream(nc, { timeout: 1_000 })
    const acknowledged: { events: Map<string, TestEvent>; sessions: number } = { events: new Map(), sessions: 0 }
    let arriving = true
    const arrive = async (partition: number): Promise<void> => {
      let latest: readonly TestEvent[] = []
      while (arriving) {
        const session_id = randomUUID()
        const events = someEvents(EVENTS_AN_ENVELOPE, { session_id })
        const earlier = latest.slice(-30, -27)
        const mine = events.map(event => ({ ...event, primitive_name: `agent-${partition}` }))
        const envelope = envelopeOf([{ session_id, user_data: { user_id: `u${partition}` } }, ...mine, ...earlier])
        const msgID = randomUUID()
        for (;;) {
          try {
            await js.publish(subjectOf(partition), envelope, { msgID })
            break
          } catch {
            await delay(50)
          }
        }
        latest = [...latest, ...mine].slice(-30)
        for (const event of mine) acknowledged.events.set(event.event_id, event)
        acknowledged.sessions++
        await delay(PAUSE_MS)
      }
    }
    const arrivals = [arrive(0), arrive(1)]

    // Two processors, each killed at random instants after it became ready and started again at once.
    let kills = 0
    const logs: string[] = []
    const processor = async (): Promise<void> => {
      for (let i = 0; i < KILLS_EACH; i++) {
        const part = await start()
        await delay(Math.random() * 500)
        part.kill('SIGKILL')
        await part.exited
        kills++
        logs.push(part.logs())
      }
    }
    // One that starts while NATS is away may give up: then it is started again, as its launcher would.
    const start = (): Promise<TestPart> =>
      eventually('a processor', () => startPart(t, 'processors/main.ts', env).catch(() => undefined), 30_000)
    const engines = async (): Promise<void> => {
      for (const engine of [clickhouse, nats, clickhouse, nats]) {
        await delay(1_000 + Math.random() * 500)
        await engine.kill9()
        await engine.restart()
        kills++
      }
    }
    await Promise.all([processor(), processor(), engines()])
    t.equal(kills, 2 * KILLS_EACH + 4)
    const last = await start()
    await delay(200)
    arriving = false
    await Promise.all(arrivals)

    const expected = acknowledged.events.size
    let counts: Record<string, number> = {}
    await eventually(
      'every event',
      async () => allEqual((counts = await countsOf(store, expected)), expected),
      60_000,
    ).catch(() => {})
    t.same(counts, Object.fromEntries(Object.keys(counts).map(name => [name, expected])), `${expected} events`)
    const ids = await store.read<{ event_id: string }>('SELECT DISTINCT event_id FROM events')
    t.same(
      ids.filter(({ event_id }) => !acknowledged.events.has(event_id)),
      [],
      'nothing that was never sent',
    )
    const sessions = await store.read<{ n: string }>('SELECT count() AS n FROM sessions')
    t.equal(Number(sessions[0]?.n), acknowledged.sessions, `${acknowledged.sessions} session captures`)
    const healed = logs.join('').match(/healing a block/g)?.length ?? 0
    t.comment(`${kills} kills, ${healed} blocks healed under another attempt`)
    t.equal((await last.stop()).code, 0, 'an orderly end')
  },
)
