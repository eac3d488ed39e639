// Sends stories: the requests of one story one after the other, many stories at a time; what is refused for the moment (429, 502,
// 503, 504, a dropped connection) is sent again, anything else is counted and shown.
import { setTimeout as delay } from 'node:timers/promises'
import type { DemoRequest, Story } from './stories.ts'

/** Where the requests go. */
export interface Target {
  readonly baseUrl: string
  readonly otelUrl: string
  readonly organization: string
}

/** What became of the requests. */
export interface SendResult {
  readonly requests: number
  readonly events: number
  /** Answers that were not 2xx, with how often each came. */
  readonly refused: ReadonlyMap<string, number>
}

const RETRIED = new Set([429, 502, 503, 504])
const TRIES = 6

/** Sends every story with up to `concurrency` at a time; `onProgress` is called after each story. */
export async function sendStories(
  target: Target,
  stories: readonly Story[],
  options: { concurrency: number; onProgress: (done: number) => void },
): Promise<SendResult> {
  const refused = new Map<string, number>()
  let requests = 0
  let events = 0
  let next = 0
  let done = 0
  const lane = async (): Promise<void> => {
    for (let story = stories[next++]; story; story = stories[next++]) {
      for (const request of story) {
        const problem = await sendOne(target, request)
        requests++
        if (problem === undefined) events += request.events
        else refused.set(problem, (refused.get(problem) ?? 0) + 1)
      }
      options.onProgress(++done)
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, lane))
  return { requests, events, refused }
}

async function sendOne(target: Target, request: DemoRequest): Promise<string | undefined> {
  const rest = request.address === 'rest'
  const url = `${rest ? target.baseUrl : target.otelUrl}${request.path}`
  const headers = {
    'content-type': 'application/json',
    [rest ? 'x-org-id' : 'x-service-org-id']: target.organization,
  }
  const body = JSON.stringify(request.body)
  for (let attempt = 1; ; attempt++) {
    let problem: string
    try {
      const answer = await fetch(url, { method: 'POST', headers, body })
      const text = await answer.text()
      if (answer.ok) return undefined
      problem = `${answer.status} ${request.path}: ${text.slice(0, 200)}`
      if (!RETRIED.has(answer.status)) return problem
    } catch (error) {
      problem = `${request.path}: ${error instanceof Error ? error.message : String(error)}`
    }
    if (attempt === TRIES) return problem
    await delay(200 * 2 ** attempt)
  }
}
