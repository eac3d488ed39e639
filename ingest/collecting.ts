// Bodies that are being collected for the query node: a bound on their bytes, under which a slow sender holds memory and nothing else. Where
// it is reached, the oldest body of the address that holds most gives way, so that newcomers are collected whatever others leave lying.

/** What a body costs before its first byte: its headers, and what keeps them. */
const LEAST_BYTES = 4096

/** The room of one body. */
export interface Room {
  /** Room for more; false when there is none even after others gave way. */
  take(bytes: number): boolean
  /** The body is whole: it gives way no more. */
  whole(): void
  /** Gives all of it back; may be called twice. */
  free(): void
}

export interface Collecting {
  /** Room for a body, or null. `giveWay` is called at most once and has freed the room when it returns. */
  begin(address: string, giveWay: () => void): Room | null
  used(): number
}

/** The bodies of one address that are not whole, in the order in which they began. */
interface Holder {
  bytes: number
  readonly rooms: Set<Place>
}

/** Room for `maxBytes` of bodies. */
export function createCollecting(maxBytes: number): Collecting {
  const holders = new Map<string, Holder>()
  let used = 0
  const holds = (place: Place, bytes: number): void => {
    const holder = holders.get(place.address) ?? { bytes: 0, rooms: new Set() }
    if (bytes > 0) holders.set(place.address, holder)
    holder.bytes += bytes
    if (bytes > 0) holder.rooms.add(place)
    else holder.rooms.delete(place)
    if (holder.rooms.size === 0) holders.delete(place.address)
  }
  const oldestOfMost = (): Place | undefined => {
    let most: Holder | undefined
    for (const holder of holders.values()) if (holder.bytes > (most?.bytes ?? 0)) most = holder
    return most?.rooms.values().next().value
  }
  const hall: Hall = {
    take: (place, bytes) => {
      while (used + bytes > maxBytes) {
        const oldest = oldestOfMost()
        if (oldest === undefined || oldest === place) return false
        oldest.giveWay()
      }
      used += bytes
      holds(place, bytes)
      return true
    },
    settle: (place, bytes) => holds(place, -bytes),
    give: bytes => {
      used -= bytes
    },
  }
  return {
    begin: (address, giveWay) => {
      const place = new Place(hall, address, giveWay)
      return place.take(LEAST_BYTES) ? place : null
    },
    used: () => used,
  }
}

interface Hall {
  take(place: Place, bytes: number): boolean
  /** Counts the bytes of a place no more as those of a body that may give way. */
  settle(place: Place, bytes: number): void
  give(bytes: number): void
}

class Place implements Room {
  readonly address: string
  readonly giveWay: () => void
  readonly #hall: Hall
  #bytes = 0
  #settled = false

  constructor(hall: Hall, address: string, giveWay: () => void) {
    this.#hall = hall
    this.address = address
    this.giveWay = giveWay
  }

  take(bytes: number): boolean {
    if (!this.#hall.take(this, bytes)) return false
    this.#bytes += bytes
    return true
  }

  whole(): void {
    if (this.#settled) return
    this.#settled = true
    this.#hall.settle(this, this.#bytes)
  }

  free(): void {
    this.whole()
    this.#hall.give(this.#bytes)
    this.#bytes = 0
  }
}
