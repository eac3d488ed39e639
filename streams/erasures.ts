// Asking for erasures, and reading how far they are.
import { randomUUID } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { ERASURES, type ErasureKind, type ErasureRecord, erasureKeyOf, userHash } from '#proto/erasure.ts'

/** A record and its revision. */
export interface FoundErasure {
  readonly record: ErasureRecord
  readonly revision: number
}

/** The erasure of a subject; null when it was never asked for. */
export async function getErasure(cursors: KV, organization: string, subject: string): Promise<FoundErasure | null> {
  const entry = await cursors.get(erasureKeyOf(organization, subject))
  return entry?.operation === 'PUT' ? { record: entry.json<ErasureRecord>(), revision: entry.revision } : null
}

/** What to erase, and who asks. */
export interface ErasureRequest {
  readonly organization: string
  readonly kind: ErasureKind
  /** Of kind `user`. */
  readonly user?: string
  readonly by: string
  readonly nowMs: number
}

/** Asks for an erasure. One that is under way is returned as it is; one that is done begins again. @throws when the server does not answer. */
export async function requestErasure(cursors: KV, request: ErasureRequest): Promise<ErasureRecord> {
  const { organization, kind, user, by, nowMs } = request
  const subject = user === undefined ? organization : userHash(organization, user)
  const found = await getErasure(cursors, organization, subject)
  if (found && found.record.state !== 'done') return found.record
  const record: ErasureRecord = {
    id: randomUUID(),
    organization,
    kind,
    subject,
    ...(user === undefined ? {} : { user }),
    state: 'requested',
    requested_at: new Date(nowMs).toISOString(),
    requested_by: by,
    through: {},
    step: '',
    erased: {},
  }
  try {
    await cursors.put(erasureKeyOf(organization, subject), JSON.stringify(record), {
      previousSeq: found?.revision ?? 0,
    })
    return record
  } catch (error) {
    // Somebody else asked at the same time.
    const now = await getErasure(cursors, organization, subject)
    if (now && now.record.state !== 'done') return now.record
    throw error
  }
}

/** Every erasure, of one organization or of all; newest first. */
export async function listErasures(cursors: KV, organization?: string): Promise<FoundErasure[]> {
  const keys = await cursors.keys(`${ERASURES}${organization ?? '*'}.*`)
  const found: FoundErasure[] = []
  for await (const key of keys) {
    const entry = await cursors.get(key)
    if (entry?.operation === 'PUT') found.push({ record: entry.json<ErasureRecord>(), revision: entry.revision })
  }
  return found.sort((a, b) => (a.record.requested_at < b.record.requested_at ? 1 : -1))
}
