// Metadata of a row: what a sender attached, as text by key, without secrets, bounded. What a bound takes away is said in
// the metadata itself, so that nothing is missing without a trace.
import { jsonText } from '#proto/json.ts'
import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { isSecretName, MASK, maskText, maskValue } from './secrets.ts'
import { cutUnits, wellFormed } from './text.ts'

/** Bounds of one row's metadata. Units are UTF-16 units. */
export const METADATA_BOUNDS = { keys: 512, keyUnits: 256, valueUnits: 16_384, totalUnits: 262_144 } as const

/** Keys of cut values that are listed; beyond, the number alone is told. */
const LISTED = 20

/** Of rows that have none. */
const NO_METADATA: Record<string, string> = Object.freeze(Object.create(null) as Record<string, string>)
const NO_NOTES: ReadonlyMap<string, string> = new Map()
const NO_KEYS: readonly string[] = []

/** Collects a row's metadata. A key given twice keeps its last value. */
export class MetadataBuilder {
  readonly #values = new Map<string, string>()
  /** Made when there is something to be said: of most rows there is not. */
  #notes: Map<string, string> | null = null
  #cut: string[] | null = null
  #units = 0
  #dropped = 0

  /** Adds what a sender attached: text as it is, nothing as '', everything else as JSON. `units` bounds a value that may be long. */
  put(key: string, value: unknown, units: number = METADATA_BOUNDS.valueUnits): void {
    const [name, text] = readyEntry(key, value)
    this.putReady(name, text, units)
  }

  /** Adds what `readyEntry` made: for values that many rows share. */
  putReady(name: string, text: string, units: number = METADATA_BOUNDS.valueUnits): void {
    const kept = cutUnits(text, Math.max(0, Math.min(units, METADATA_BOUNDS.totalUnits - this.#units - name.length)))
    const before = this.#values.get(name)
    if ((before === undefined && this.#values.size >= METADATA_BOUNDS.keys) || (kept === '' && text !== '')) {
      this.#dropped++
      return
    }
    if (kept.length < text.length) {
      this.#cut ??= []
      this.#cut.push(name)
    }
    this.#units += kept.length - (before === undefined ? -name.length : before.length)
    this.#values.set(name, kept)
  }

  /** Adds a remark of parley's own, e.g. the sent value of something that was changed. Precondition: short. */
  note(key: string, value: string): void {
    this.#notes ??= new Map()
    this.#notes.set(OWN_PREFIX + key, cutUnits(wellFormed(value), METADATA_BOUNDS.valueUnits))
  }

  /** True when a sender's value stands under this key. */
  has(key: string): boolean {
    return this.#values.has(key)
  }

  /** A sender's value, '' when there is none. */
  get(key: string): string {
    return this.#values.get(key) ?? ''
  }

  /** The finished map. It has no prototype: keys such as `__proto__` are keys like others. */
  finish(): Record<string, string> {
    const cut = this.#cut ?? NO_KEYS
    if (cut.length > 0) {
      const more = cut.length > LISTED ? ` and ${cut.length - LISTED} more` : ''
      this.note('metadata_cut', `${cut.slice(0, LISTED).join(', ')}${more}`)
    }
    if (this.#dropped > 0) this.note('metadata_dropped', String(this.#dropped))
    const notes = this.#notes ?? NO_NOTES
    if (this.#values.size === 0 && notes.size === 0) return NO_METADATA
    const map: Record<string, string> = Object.create(null) as Record<string, string>
    for (const [key, value] of this.#values) map[key] = value
    for (const [key, value] of notes) map[key] = value
    return map
  }
}

/** Key and text of an entry as they are stored, before bounds: well-formed and masked. */
export function readyEntry(key: string, value: unknown): readonly [name: string, text: string] {
  const name = cutUnits(wellFormed(key), METADATA_BOUNDS.keyUnits)
  return [name, wellFormed(textOf(name, value))]
}

function textOf(key: string, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (value !== '' && isSecretName(key)) return MASK
  if (typeof value === 'string') return maskText(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  // `headers` as the key says what its object holds: judged as if it stood in an object of its own.
  const masked = (maskValue({ [key]: value }, false, 0) as Record<string, unknown>)[key]
  return jsonText(masked)
}
