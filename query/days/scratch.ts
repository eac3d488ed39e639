// Arrays with a place for each conversation, lent for the time of one walk. Made anew by each question they would be some tens of megabytes
// a second beside a dashboard that is looked at, and the collector would go through all that is kept as often as they add up.

type Zeros = Uint8Array | Uint16Array | Uint32Array | Float64Array

/** Larger ones are not kept until the next question: they are besides what kept days may take. */
const KEPT_MAX_BYTES = 32 * 1024 * 1024

/** Lends an array in which all is 0 to work that ends before it returns. */
type Lending<List extends Zeros> = <T>(length: number, work: (zeros: List) => T) => T

function lending<List extends Zeros>(make: (length: number) => List): Lending<List> {
  // As many as were lent at once.
  const free: List[] = []
  return (length, work) => {
    const found = free.pop()
    const all = found !== undefined && found.length >= length ? found : make(Math.ceil(length * 1.1))
    const zeros = all.subarray(0, length) as List
    try {
      return work(zeros)
    } finally {
      zeros.fill(0)
      if (all.byteLength <= KEPT_MAX_BYTES) free.push(all)
    }
  }
}

export const withBytes = lending(length => new Uint8Array(length))
export const withShorts = lending(length => new Uint16Array(length))
export const withWords = lending(length => new Uint32Array(length))
export const withFloats = lending(length => new Float64Array(length))
