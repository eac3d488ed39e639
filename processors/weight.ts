// How much a message weighs once its payloads are inflated, from its headers alone: a few kilobytes of gzip may hold megabytes.
import { ENVELOPE_HEADER_BYTES, FRAME_HEADER_BYTES } from '#proto/envelope.ts'
import { uuidText } from '#proto/ids.ts'
import { inScope } from './lanes.ts'
import type { Scope } from './protocol.ts'

const INFLATED_MAX_BYTES = 256 * 1024 * 1024

/** Bytes of an envelope with every payload inflated, as far as its headers can be believed; never less than its length. */
export function envelopeWeight(message: Uint8Array): number {
  const b = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  let weight = b.length
  let at = ENVELOPE_HEADER_BYTES
  while (at + FRAME_HEADER_BYTES <= b.length) {
    const compressed = (b[at + 1] as number) >= 16
    const length = b.readUInt32LE(at + FRAME_HEADER_BYTES - 4)
    const end = at + FRAME_HEADER_BYTES + length
    if (end > b.length) break
    // The last four bytes of a gzip member are its inflated size (RFC 1952, 2.3.1).
    if (compressed && length >= 4) weight += Math.min(b.readUInt32LE(end - 4), INFLATED_MAX_BYTES)
    at = end
  }
  return weight
}

/** Adds the bytes of an envelope's frames to those of their organizations. */
export function organizationWeights(message: Uint8Array, into: Map<string, number>): void {
  const b = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  let at = ENVELOPE_HEADER_BYTES
  while (at + FRAME_HEADER_BYTES <= b.length) {
    const organization = uuidText(b, at + 2)
    const bytes = FRAME_HEADER_BYTES + b.readUInt32LE(at + FRAME_HEADER_BYTES - 4)
    into.set(organization, (into.get(organization) ?? 0) + bytes)
    at += bytes
  }
}

/**
 * The organizations of a scope that hold more than `share` (of 1) of all, when others of it hold something too. Those that are not of
 * the scope only count.
 */
export function loudest(weights: ReadonlyMap<string, number>, share: number, scope: Scope): string[] {
  const mine = [...weights].filter(([organization]) => inScope(scope, organization))
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  const loud = mine.filter(([, weight]) => weight > share * total)
  return loud.length < mine.length ? loud.map(([organization]) => organization) : []
}
