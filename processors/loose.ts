// Spans of a range that name no session, on their way between the thread that reads them and the owner, who may know their home.
import { uuidBytes } from '#proto/ids.ts'
import type { EventRow, LinkRow } from '#proto/rows.ts'
import type { Units } from './units.ts'

/** Where spans of a trace belong, as their rows say it. */
export interface Home {
  readonly conversation_id: string
  readonly session_id: string
}

/** The event of a span, written where it belongs. */
export function atHome(event: EventRow, home: Home | undefined): EventRow {
  return home === undefined ? event : { ...event, ...home, provisional: 0, moves: 1 }
}

/** Spans without a session, in the order of the range. */
export interface LooseUnits {
  /** Their stand-ins, 16 bytes each. */
  readonly standIns: Uint8Array
  readonly sequences: Float64Array
  /** In which hours, since 1970, their rows stand. */
  readonly hours: Uint32Array
  /** 1 = nothing else hangs on the stand-in, so that the span may be written at home at once. */
  readonly free: Uint8Array
  /** For each of them: 0, or the number of the home that a link of the same range says, counted from 1. */
  readonly revealed: Uint32Array
  readonly homes: readonly Home[]
}

/** Which of them are written at home. */
export interface Placement {
  /** For each loose unit: 0, or the number of its home counted from 1. */
  readonly of: Uint16Array
  readonly homes: readonly Home[]
}

const ID_BYTES = 16

const HOUR_MS = 3_600_000

/** The hour of an instant, counted from 1970. */
export const hourAt = (ms: number): number => Math.floor(ms / HOUR_MS)

/** The hour of a row's time, which is text as `sqlNanos` writes it. */
export const hourIn = (ts: string): number => hourAt(Date.parse(`${ts.slice(0, 10)}T${ts.slice(11, 13)}:00:00Z`))

/** A stand-in's name in memory. */
export const keyOf = (id: string): string => uuidBytes(id).toString('latin1')

/** The names of all stand-ins. */
export function keysOf({ standIns }: Pick<LooseUnits, 'standIns'>): string[] {
  const bytes = Buffer.from(standIns.buffer, standIns.byteOffset, standIns.byteLength)
  return Array.from({ length: bytes.length / ID_BYTES }, (_, i) =>
    bytes.toString('latin1', i * ID_BYTES, (i + 1) * ID_BYTES),
  )
}

/** Which link of a trace counts: the least, as RANK of moves.ts has it. */
function isBefore(a: LinkRow, b: LinkRow): boolean {
  if (a.depth !== b.depth) return a.depth < b.depth
  if (a.started_at !== b.started_at) return a.started_at < b.started_at
  return BigInt(a.span_id) < BigInt(b.span_id)
}

/** The links of a range: of each trace the one that counts among them. */
class RangeLinks {
  readonly #best = new Map<string, LinkRow>()

  add(link: LinkRow | undefined): void {
    if (link === undefined) return
    const key = keyOf(link.provisional_id)
    const known = this.#best.get(key)
    if (known === undefined || isBefore(link, known)) this.#best.set(key, link)
  }

  /** Numbers of homes for stand-ins, and those homes. */
  of(standIns: Uint8Array, units: number): Pick<LooseUnits, 'revealed' | 'homes'> {
    const revealed = new Uint32Array(units)
    const homes: Home[] = []
    if (this.#best.size === 0) return { revealed, homes }
    const numbers = new Map<string, number>()
    for (const [i, key] of keysOf({ standIns }).entries()) {
      const link = this.#best.get(key)
      if (link === undefined) continue
      const { conversation_id, session_id } = link
      const number = numbers.get(key) ?? homes.push({ conversation_id, session_id })
      numbers.set(key, number)
      revealed[i] = number
    }
    return { revealed, homes }
  }
}

/** The loose units of a range, with their ordinals. */
export function looseOf(units: Units): { readonly asked: LooseUnits; readonly ordinals: Uint32Array } {
  const ordinals: number[] = []
  const free: number[] = []
  const hours: number[] = []
  let standIns = new Uint8Array(64 * ID_BYTES)
  for (let ordinal = 0; ordinal < units.length; ordinal++) {
    const frame = units.packedAt(ordinal)
    const placed = frame === undefined ? units.rowsAt(ordinal) : undefined
    if ((ordinals.length + 1) * ID_BYTES > standIns.length) standIns = doubled(standIns)
    const at = ordinals.length * ID_BYTES
    if (frame !== undefined) {
      const { units: packed, first } = frame
      const unit = ordinal - first
      if (!packed.putStandIn(unit, standIns, at)) continue
      free.push(packed.isCaptured(unit) ? 0 : 1)
      hours.push(packed.hourOf(unit))
    } else {
      if (placed === undefined) continue
      const [event] = placed.unit.events
      if (event === undefined || event.provisional !== 1) continue
      standIns.set(uuidBytes(event.conversation_id), at)
      free.push(placed.unit.sessions.length > 0 ? 0 : 1)
      hours.push(hourIn(event.ts))
    }
    ordinals.push(ordinal)
  }
  standIns = standIns.slice(0, ordinals.length * ID_BYTES)
  const asked = {
    standIns,
    sequences: Float64Array.from(ordinals, ordinal => units.sequences[ordinal] as number),
    hours: Uint32Array.from(hours),
    free: Uint8Array.from(free),
    ...linksIn(ordinals.length === 0 ? null : units).of(standIns, ordinals.length),
  }
  return { asked, ordinals: Uint32Array.from(ordinals) }
}

/** The links of a range, which nobody asks for where nothing is loose (null). */
function linksIn(units: Units | null): RangeLinks {
  const links = new RangeLinks()
  for (let ordinal = 0; ordinal < (units?.length ?? 0); ordinal++) {
    const frame = units?.packedAt(ordinal)
    const placed = units?.rowsAt(ordinal)
    // What the store refuses reveals nothing.
    if (frame !== undefined && !frame.refused) links.add(frame.units.linkOf(ordinal - frame.first))
    else if (placed !== undefined && !placed.refused) placed.unit.links?.forEach(link => links.add(link))
  }
  return links
}

function doubled(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(bytes.length * 2)
  more.set(bytes)
  return more
}

/** Homes by ordinal, and how many units have one. */
export function homesByOrdinal(
  ordinals: Uint32Array,
  placement: Placement | null,
): { readonly homeAt: (ordinal: number) => Home | undefined; readonly placed: number } {
  if (placement === null) return { homeAt: () => undefined, placed: 0 }
  const homes = new Map<number, Home>()
  for (const [i, number] of placement.of.entries()) {
    if (number > 0) homes.set(ordinals[i] as number, placement.homes[number - 1] as Home)
  }
  return { homeAt: ordinal => homes.get(ordinal), placed: homes.size }
}
