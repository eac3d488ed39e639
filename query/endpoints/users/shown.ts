// An erasure's record as it is answered: without what is being erased.
import type { Erasure } from '#proto/dashboard/erasures.ts'
import type { ErasureRecord } from '#proto/erasure.ts'

/** The answer about a record. */
export function shownErasure(record: ErasureRecord): Erasure {
  const { id, kind, subject, state, requested_at, requested_by, step, erased } = record
  return {
    id,
    kind,
    subject,
    state,
    requested_at,
    requested_by,
    step: step === '' ? null : step,
    erased: { ...erased },
    looked_at: record.looked_at === undefined ? null : [...record.looked_at],
    erased_at: record.erased_at ?? null,
    certified_at: record.certified_at ?? null,
  }
}
