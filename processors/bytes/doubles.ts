// The halves of a double -> the number.

const doubles = new Float64Array(1)
const words = new Int32Array(doubles.buffer)

/** A double from its halves. */
export function doubleOf(x: number, y: number): number {
  words[0] = x
  words[1] = y
  return doubles[0] as number
}
