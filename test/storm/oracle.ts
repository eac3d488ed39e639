// What was answered to each thing that was sent, and how often the store has it: a few bytes a thing, so that a million cost little.

/** What the best answer to a thing was. The order is that of certainty: a later answer never takes back an earlier one. */
export const Fate = { unsent: 0, refused: 1, unknown: 2, acknowledged: 3 } as const
export type Fate = (typeof Fate)[keyof typeof Fate]

/** No group. */
const NONE = 0xffffffff

/** Things of one kind, by number. */
export class Space {
  readonly name: string
  /** Rows that one thing becomes. */
  readonly rows: number
  size = 0
  /** Sends beyond the first, whatever came of them. */
  repeats = 0
  #fates: Uint8Array
  #faults: Uint8Array
  #stored: Uint16Array
  #groups: Uint32Array
  #owners: Uint8Array

  constructor(name: string, capacity: number, rows = 1) {
    this.name = name
    this.rows = rows
    this.#fates = new Uint8Array(capacity)
    this.#faults = new Uint8Array(capacity)
    this.#stored = new Uint16Array(capacity)
    this.#groups = new Uint32Array(capacity).fill(NONE)
    this.#owners = new Uint8Array(capacity)
  }

  /** The next number; `group` is the conversation that it belongs to, `owner` the number of the organization that sends it. */
  add(group = NONE, owner = 0): number {
    const n = this.size++
    if (n >= this.#fates.length) this.#grow()
    this.#groups[n] = group
    this.#owners[n] = owner
    return n
  }

  /** Notes an answer, and the fault during which it was sent (0 = calm). */
  note(n: number, fate: Fate, fault: number): void {
    if (fate <= (this.#fates[n] as Fate)) return
    this.#fates[n] = fate
    this.#faults[n] = fault
  }

  /** Notes rows that the store has of an owner; a number that was never given out to it is told by false. */
  found(n: number, rows: number, owner = 0): boolean {
    if (!(n >= 0 && n < this.size) || this.#owners[n] !== owner) return false
    this.#stored[n] = (this.#stored[n] as number) + rows
    return true
  }

  fate(n: number): Fate {
    return this.#fates[n] as Fate
  }

  fault(n: number): number {
    return this.#faults[n] as number
  }

  owner(n: number): number {
    return this.#owners[n] as number
  }

  /** Rows in the store. */
  stored(n: number): number {
    return this.#stored[n] as number
  }

  group(n: number): number {
    return this.#groups[n] as number
  }

  /** Twice as much room. */
  #grow(): void {
    const capacity = this.#fates.length * 2
    const larger = <T extends Uint8Array | Uint16Array | Uint32Array>(old: T, made: T): T => {
      made.set(old)
      return made
    }
    this.#fates = larger(this.#fates, new Uint8Array(capacity))
    this.#faults = larger(this.#faults, new Uint8Array(capacity))
    this.#stored = larger(this.#stored, new Uint16Array(capacity))
    this.#groups = larger(this.#groups, new Uint32Array(capacity).fill(NONE))
    this.#owners = larger(this.#owners, new Uint8Array(capacity))
  }
}

/** What became of the things of one kind, or of those of one fault. */
export interface Count {
  acknowledged: number
  unknown: number
  refused: number
  stored: number
  /** Acknowledged and not there, or there in part. */
  lost: number
  /** There more than once. */
  doubled: number
  /** There although refused or never sent. */
  strange: number
}

export const noCount = (): Count => ({
  ...{ acknowledged: 0, unknown: 0, refused: 0, stored: 0, lost: 0, doubled: 0, strange: 0 },
})

/** Judges one thing. What had no answer may be there or not, but not in part and not twice. */
export function judge(space: Space, n: number, into: Count): void {
  const fate = space.fate(n)
  const stored = space.stored(n)
  if (fate === Fate.acknowledged) into.acknowledged++
  else if (fate === Fate.unknown) into.unknown++
  else if (fate === Fate.refused) into.refused++
  if (stored > 0) into.stored++
  if (stored > space.rows) into.doubled++
  else if (fate === Fate.acknowledged && stored < space.rows) into.lost++
  else if (stored > 0 && (stored < space.rows || fate === Fate.refused || fate === Fate.unsent)) into.strange++
}

/** Everything that a run has sent. */
export class Oracle {
  readonly events: Space
  readonly minted: Space
  readonly spansJson: Space
  readonly spansProtobuf: Space
  readonly calls: Space
  readonly sessions: Space
  /** Poisoned payloads that the stream has acknowledged. */
  poison = 0
  /** Rows in the store that carry no number of ours. */
  foreign = 0
  /** Events that were refused although their session was acknowledged before (404). */
  denied = 0
  /** Requests that were no use to anybody, and answers to them that were not a plain refusal. */
  bad = 0
  badTaken = 0

  constructor(events: number, rowsOfCall: number) {
    this.events = new Space('SDK events with an id', events)
    this.minted = new Space('SDK events without an id', events / 8)
    this.spansJson = new Space('spans, OTLP in JSON', events)
    this.spansProtobuf = new Space('spans, OTLP in protobuf', events)
    this.calls = new Space('voice calls', events / 8, rowsOfCall)
    this.sessions = new Space('session captures', events / 4)
  }

  /** Those that become events. */
  get surfaces(): readonly Space[] {
    return [this.events, this.minted, this.spansJson, this.spansProtobuf, this.calls]
  }

  /** Events acknowledged so far, which a call has several of. */
  acknowledged = 0
}
