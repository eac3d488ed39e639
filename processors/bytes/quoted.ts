// Texts that stand in JSON inside a body, and are written to their columns from there.

import type { TextColumn } from '../columns/text.ts'
import type { Said } from '../parsers/otlp/content.ts'
import type { Runs } from './messages.ts'

/** Messages as they were sent. Precondition: the bytes are UTF-8. */
export class SentMessages {
  readonly key: string
  readonly #bytes: Buffer
  readonly #from: number
  readonly #to: number

  constructor(key: string, bytes: Buffer, from: number, to: number) {
    this.key = key
    this.#bytes = bytes
    this.#from = from
    this.#to = to
  }

  /** Their bytes: at least as many as their text has units. */
  get size(): number {
    return this.#to - this.#from
  }

  get json(): string {
    return this.#bytes.toString('utf8', this.#from, this.#to)
  }
}

/** What somebody said in messages: texts of JSON strings, one a line. Preconditions: there are some; a scanner has passed over them. */
export class Quoted implements Said {
  readonly structure: Said['structure']
  readonly from: string
  readonly words = true
  readonly #bytes: Buffer
  readonly #runs: Runs

  constructor(bytes: Buffer, runs: Runs, from: string, structure: Said['structure']) {
    this.#bytes = bytes
    this.#runs = runs
    this.from = from
    this.structure = structure
  }

  get text(): string {
    const lines: string[] = []
    for (let i = 0; i < this.#runs.length; i += 2) {
      lines.push(JSON.parse(`"${this.#bytes.toString('utf8', this.#runs[i], this.#runs[i + 1])}"`) as string)
    }
    return lines.join('\n')
  }

  /** Adds the text to a column. */
  addTo(column: TextColumn): void {
    column.addJsonLines(this.#bytes, this.#runs)
  }

  lent(structure: Said['structure'], from: string): Said {
    return new Quoted(this.#bytes, this.#runs, from, structure)
  }
}
