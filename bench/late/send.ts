// A plan -> exports to the receivers at a rate; what is not answered with 200 is sent again until it is, as exporters do.
import { setTimeout as delay } from 'node:timers/promises'
import { fieldsOf, type Plan, spanNumberOf, traceOf } from './plan.ts'
import { spanOf } from './spans.ts'

/** Spans of one export. */
const EXPORT = 250
/** Exports that are under way to one receiver. */
const SENDERS = 2
const RETRY_MS = 100
const TIMEOUT_MS = 30_000

/** What `send` needs. */
export interface SendOptions {
  readonly plan: Plan
  readonly organization: string
  readonly collectors: readonly string[]
  /** Spans a second. */
  readonly rate: number
  /** Called when the spans of an export are acknowledged. */
  readonly acknowledged: (codes: Uint32Array) => void
}

/** Sends all; resolves with how many exports had to be sent again. */
export async function send({ plan, organization, collectors, rate, acknowledged }: SendOptions): Promise<number> {
  const startedAt = performance.now()
  let [next, again] = [0, 0]
  const headers = { 'content-type': 'application/json', 'x-service-org-id': organization }
  const sender = async (url: string): Promise<void> => {
    for (;;) {
      const from = next
      if (from >= plan.pieces.length) return
      next += EXPORT
      await delay(startedAt + (from / rate) * 1000 - performance.now())
      const codes = plan.pieces.subarray(from, from + EXPORT)
      const spans = [...codes].map(code => {
        const [trace, span] = [traceOf(code), spanNumberOf(code)]
        return spanOf(trace, span, fieldsOf(plan, trace, span))
      })
      const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
      for (; !(await isTaken(url, headers, body)); again++) await delay(RETRY_MS)
      acknowledged(codes)
    }
  }
  await Promise.all(collectors.flatMap(url => Array.from({ length: SENDERS }, () => sender(url))))
  return again
}

async function isTaken(url: string, headers: Record<string, string>, body: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) })
    await answer.arrayBuffer()
    if (answer.status === 400) throw new Error('an export of the bench is refused')
    return answer.status === 200
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('an export')) throw error
    return false
  }
}
