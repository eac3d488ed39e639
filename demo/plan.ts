// A seed and a day -> the stories of the demo. The same seed on the same day gives the very same requests, ids and times included.
import { createRandom } from './random.ts'
import type { Story } from './stories.ts'
import { stories } from './stories.ts'
import { people } from './world.ts'

const DAY_MS = 86_400_000

/** What is to be sent. */
export interface Plan {
  readonly seed: string
  readonly conversations: number
  readonly users: number
  readonly days: number
}

/** Stories of the days before the one that holds `nowMs`, which is counted from midnight UTC. */
export function planStories({ seed, conversations, users, days }: Plan, nowMs: number): Story[] {
  const random = createRandom(seed)
  const crowd = people(random.fork('people'), users)
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  return Array.from({ length: conversations }, (_, i) => {
    const own = random.fork(`story ${i}`)
    const story = own.skewed(stories)
    // People write by day: two draws make the middle of the day busier than its ends. Nothing lies in the future.
    const day = today - own.between(1, days) * DAY_MS
    const startMs = day + Math.floor(((own.unit() + own.unit()) / 2) * DAY_MS)
    return story({ random: own, person: own.skewed(crowd), startMs })
  })
}
