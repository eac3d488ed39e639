// Questions about single sessions -> batches for the store. One query is open at a time and collects the next batch, so that a burst
// of old sessions costs a few queries. What the store does not know is remembered for a moment: a sender that repeats a wrong id must
// not cost a query each time.
import { uuidText } from '#proto/ids.ts'
import type { AskSessions, SessionKey } from '#store/session-lookup.ts'
import { sessionKeyText } from '#store/session-lookup.ts'

/** Conversations in one query at most. */
const BATCH = 1_000
/** Questions that may wait for a query; beyond, the store counts as not able to answer. */
const MAX_WAITING = 20_000
/** Absent conversations that are remembered, and for how long. One that is captured meanwhile is learnt from the streams. */
const MAX_ABSENT = 20_000
const ABSENT_MS = 5_000

/** Says whether a conversation was ever captured. */
export interface SessionLookup {
  /** Rejects when the store cannot answer. Both are 16 bytes. */
  exists(organization: Uint8Array, conversation: Uint8Array): Promise<boolean>
}

interface Question {
  readonly key: SessionKey
  readonly text: string
  readonly resolve: (exists: boolean) => void
  readonly reject: (error: unknown) => void
}

/** Batches questions to `ask`. `now`: milliseconds of a clock that never goes back. */
export function createSessionLookup(ask: AskSessions, now: () => number = () => performance.now()): SessionLookup {
  let waiting: Question[] = []
  let open = false
  // Absent conversations and until when, oldest first.
  const absent = new Map<string, number>()
  const remember = (text: string): void => {
    absent.delete(text)
    const oldest = absent.size >= MAX_ABSENT ? absent.keys().next().value : undefined
    if (oldest !== undefined) absent.delete(oldest)
    absent.set(text, now() + ABSENT_MS)
  }
  const answerAll = async (): Promise<void> => {
    open = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      waiting = waiting.slice(BATCH)
      try {
        const found = await ask(batch.map(question => question.key))
        for (const { text, resolve } of batch) {
          if (!found.has(text)) remember(text)
          resolve(found.has(text))
        }
      } catch (error) {
        for (const question of batch) question.reject(error)
      }
    }
    open = false
  }
  return {
    exists: (organization, conversation) =>
      new Promise((resolve, reject) => {
        const key = { organization: uuidText(organization), conversation: uuidText(conversation) }
        const text = sessionKeyText(key)
        if ((absent.get(text) ?? 0) > now()) return resolve(false)
        if (waiting.length >= MAX_WAITING) return reject(new Error('too many questions are waiting for the store'))
        waiting.push({ key, text, resolve, reject })
        if (!open) void answerAll()
      }),
  }
}
