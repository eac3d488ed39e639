// The keys that sign bearer tokens: a new one every month, the old ones kept as long as something they signed may be shown.
import type { KV } from '@nats-io/kv'
import { createSigningKey } from '#control/admin.ts'
import type { SigningKey } from '#control/records.ts'
import { signingKeyKey } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'

const DAY_MS = 86_400_000
/** Age at which a key signs no more. */
const SIGNS_MS = 30 * DAY_MS
/** Life of a token. */
export const TOKEN_S = 12 * 3600
/** Other processes learn of a key within a second: until then an older one signs, if there is one. */
const SETTLE_MS = 5_000

const ageOf = (key: SigningKey, nowMs: number): number => nowMs - Date.parse(key.created_at)

/** The key to sign with; undefined when every one is too old. */
export function signingKeyNow(keys: readonly SigningKey[], nowMs: number): SigningKey | undefined {
  const newest = [...keys].sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
  const young = newest.filter(key => ageOf(key, nowMs) < SIGNS_MS)
  return young.find(key => ageOf(key, nowMs) >= SETTLE_MS) ?? young[0]
}

/** Makes a key when none may sign, removes those whose tokens have all ended; returns the one to sign with. */
export async function rotateSigningKeys(records: KV, view: ControlView, nowMs: number): Promise<SigningKey> {
  const keys = view.signingKeys()
  for (const key of keys) {
    if (ageOf(key, nowMs) > SIGNS_MS + TOKEN_S * 1000) await records.delete(signingKeyKey(key.kid))
  }
  return signingKeyNow(keys, nowMs) ?? (await createSigningKey(records, nowMs))
}
