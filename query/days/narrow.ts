// Numbers that are not negative -> the narrowest flat array that holds them exactly.

/** A flat array of whole numbers. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array

const WIDTHS = [
  { below: 2 ** 8, of: Uint8Array },
  { below: 2 ** 16, of: Uint16Array },
  { below: 2 ** 32, of: Uint32Array },
]

/** The array for some numbers; one that is negative, as a sum may be while its events are being corrected, needs the widest. */
export function narrowed(numbers: ArrayLike<number>): Numbers {
  let [least, most] = [0, 0]
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i] as number
    if (number > most) most = number
    if (number < least) least = number
  }
  const { of } = (least < 0 ? undefined : WIDTHS.find(({ below }) => most < below)) ?? { of: Float64Array }
  return new of(numbers)
}

const BY_BYTES = new Map(
  [Uint8Array, Uint16Array, Uint32Array, Float64Array].map(of => [of.BYTES_PER_ELEMENT, of] as const),
)

/** Numbers of one array and those of another behind them. */
export function joined(one: Numbers, other: Numbers): Numbers {
  const of = BY_BYTES.get(Math.max(one.BYTES_PER_ELEMENT, other.BYTES_PER_ELEMENT)) as typeof Float64Array
  const both = new of(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
