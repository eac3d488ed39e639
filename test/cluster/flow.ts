// Senders that never give up on an event: what got no 200 is sent again under the same id, so that all that was begun is acknowledged.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { post } from '#test/http.ts'
import { eventually, type Teardown } from '#test/rig.ts'

const SENDS_EVERY_MS = 25
const FLOW_MS = 120_000

/** What is sent. */
export interface Flow {
  /** Resolves when as many more were acknowledged. */
  more(events: number): Promise<void>
  /** Ids of what was acknowledged until now. */
  acknowledged(): readonly string[]
  /** Attempts that were answered with 429 or above, or not at all. */
  refused(): number
  /** Notes each attempt that begins from now on; the function that comes back tells how many of them were acknowledged until its call. */
  watch(): () => number
  /** Ids of all that was acknowledged, once nothing is under way. */
  end(): Promise<readonly string[]>
}

/** Starts `senders` to the receiver at `baseUrl`, each with a session of its own. */
export function startFlow(
  t: Teardown,
  baseUrl: string,
  { organization, senders }: { organization: string; senders: number },
): Flow {
  const acknowledged: string[] = []
  let running = true
  /** The test is over: what is not acknowledged now never is. */
  let over = false
  let refused = 0
  let watched = { acknowledged: 0 }
  const insist = async (path: string, body: object): Promise<void> => {
    while (!over) {
      const begun = watched
      const answer = await post(`${baseUrl}/api/v1/${path}`, body, { 'x-org-id': organization }).catch(() => undefined)
      if (answer?.status === 200) {
        begun.acknowledged++
        return
      }
      if (answer !== undefined && answer.status < 429) throw new Error(`${path}: ${answer.status}`)
      refused++
      await delay(50)
    }
  }
  const sender = async (): Promise<void> => {
    const session_id = randomUUID()
    await insist('capture-session', { session_id, user_data: { user_id: 'u' } })
    while (running && !over) {
      const event_id = randomUUID()
      await insist('capture-event', { event_id, session_id, primitive_name: 'x', args: 'a', result: 'b', latency: 5 })
      acknowledged.push(event_id)
      await delay(SENDS_EVERY_MS)
    }
  }
  const all = Promise.all(Array.from({ length: senders }, sender))
  t.teardown(() => {
    over = true
    return all.catch(() => {})
  })
  return {
    more: async events => {
      const goal = acknowledged.length + events
      await eventually(`${events} more events`, () => acknowledged.length >= goal, FLOW_MS)
    },
    acknowledged: () => [...acknowledged],
    refused: () => refused,
    watch: () => {
      const mine = { acknowledged: 0 }
      watched = mine
      return () => mine.acknowledged
    },
    end: async () => {
      running = false
      await all
      return acknowledged
    },
  }
}
