// For tests of parsers: one context, and rows without what every row has, so that an expectation shows what a case is about.
import { NIL_UUID } from '#proto/ids.ts'
import type { EventRow, SessionRow } from '#proto/rows.ts'
import type { FrameContext, ParseOutcome, Unit } from '../outcome.ts'

/** 2026-09-21 14:13:20 UTC. */
export const RECEIVED_AT_MS = 1_790_000_000_000

export const context: FrameContext = {
  organization: '11111111-1111-4111-8111-111111111111',
  receivedAtMs: RECEIVED_AT_MS,
  mintedId: '01a0c4f2-0000-7000-8000-000000000001',
  retention: 0,
}

/** The units of an outcome that must not be dead. */
export function unitsOf(outcome: ParseOutcome): readonly Unit[] {
  if ('dead' in outcome) throw new Error(`${outcome.dead}: ${outcome.reason}`)
  return outcome.units
}

/** A value as the bytes of its JSON. */
export function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

const usual: ReadonlySet<unknown> = new Set([NIL_UUID, '0', 0, -1, ''])

/** The columns of a row that say something: no organization, no arrival, nothing that means "none". */
export function telling(row: EventRow | SessionRow): Record<string, unknown> {
  const { organization: _, received_at: __, ...columns } = row
  return Object.fromEntries(
    Object.entries(columns).flatMap(([key, value]) => {
      const plain: unknown = typeof value === 'object' && !Array.isArray(value) ? { ...value } : value
      const empty = usual.has(plain) || (typeof plain === 'object' && plain !== null && Object.keys(plain).length === 0)
      return empty ? [] : [[key, plain]]
    }),
  )
}
