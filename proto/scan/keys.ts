// The names of an object's known fields -> their numbers, compared as bytes.
import type { JsonScanner } from './json.ts'

/** Numbers of field names, to be looked up by a key's place in a body. */
export class KeyTable {
  readonly #byLength: { readonly name: Uint8Array; readonly number: number }[][] = []
  readonly #byText = new Map<string, number>()

  /** `names` at the index of their number; several names, for a field that has more than one, are given as a list. */
  constructor(names: readonly (string | readonly string[])[]) {
    for (const [number, given] of names.entries()) {
      for (const name of typeof given === 'string' ? [given] : given) this.#add(name, number)
    }
  }

  #add(name: string, number: number): void {
    while (this.#byLength.length <= name.length) this.#byLength.push([])
    this.#byLength[name.length]?.push({ name: new Uint8Array(Buffer.from(name, 'latin1')), number })
    this.#byText.set(name, number)
  }

  /** The number of the key between two positions, -1 for a name that is not known. `escaped`: it holds escapes, and is decoded. */
  find(scanner: JsonScanner, start: number, end: number, escaped: boolean): number {
    if (escaped) return this.#byText.get(scanner.textOf(start, end)) ?? -1
    const length = end - start
    if (length >= this.#byLength.length) return -1
    const { bytes } = scanner
    const candidates = this.#byLength[length] as { readonly name: Uint8Array; readonly number: number }[]
    for (let i = 0; i < candidates.length; i++) {
      const { name, number } = candidates[i] as { readonly name: Uint8Array; readonly number: number }
      let at = 0
      while (at < length && name[at] === bytes[start + at]) at++
      if (at === length) return number
    }
    return -1
  }
}
