// The latest entries of a map that would otherwise grow for ever: two generations, of which the older one is forgotten as a whole.

/** At most twice `half` entries; what is read or written stays. */
export class Recent<V> {
  readonly #half: number
  readonly #turned: () => void
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  /** `turned`: called when a generation has been forgotten. */
  constructor(half: number, turned: () => void = () => {}) {
    this.#half = half
    this.#turned = turned
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    this.#young.set(key, value)
    if (this.#young.size < this.#half) return
    this.#old = this.#young
    this.#young = new Map()
    this.#turned()
  }
}
