// Uses of API keys -> when each was last used, written at most once in some minutes: a note for people, never worth a write a request.
import type { KV } from '@nats-io/kv'
import type { ApiKey } from '#control/records.ts'
import { apiKeyUseKey } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import type { Log } from '#runtime/log.ts'

/** How old a note may be. */
const EXACT_TO_MS = 300_000

/** Notes the uses of keys; costs a comparison where the note is new enough. */
export function createKeyUse(deps: {
  records: KV
  view: Pick<ControlView, 'apiKeyUse'>
  log: Log
  clock?: () => number
}): (key: ApiKey) => void {
  const { records, view, log, clock = Date.now } = deps
  // What this process wrote itself counts before the view has it.
  const notedMs = new Map<string, number>()
  return ({ id }) => {
    const now = clock()
    const known = notedMs.get(id) ?? Date.parse(view.apiKeyUse(id)?.at ?? '1970-01-01T00:00:00Z')
    if (now - known < EXACT_TO_MS) return
    notedMs.set(id, now)
    records.put(apiKeyUseKey(id), JSON.stringify({ at: new Date(now).toISOString() })).catch((error: unknown) => {
      notedMs.delete(id)
      log.warn({ err: error, key: id }, 'the use of an API key could not be noted')
    })
  }
}
