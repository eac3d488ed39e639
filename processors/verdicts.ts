// Which units of a range are repeats: fingerprints in, runs of ordinals out. One of these for each partition, shared by its lanes.
//
// An identity belongs to the position that was judged first. A lane that meets it at another position drops it, whichever lane has
// it; only a replay meets the identities of its own range again, and those are its own to store. A judgement may be undone until
// its intent is recorded: what others dropped meanwhile because of it will be stored by whoever reads that range again.
import type { OrdinalRun } from './protocol.ts'
import type { Batch, Fingerprints } from './repeats.ts'
import { RepeatWindow, runsOf } from './repeats.ts'

/** How a range is judged. */
export interface JudgedRange {
  readonly replay: boolean
  readonly from: number
  readonly to: number
}

/** One judgement. */
export interface Judgement {
  /** May be asked again after `undo`. */
  judge(prints: Fingerprints): readonly OrdinalRun[]
  undo(): void
}

/** The memory of a partition's owner. */
export class Verdicts {
  readonly #max: number
  readonly main: RepeatWindow
  /** What a replay has kept so far, after what stood before it; stays, because live payloads may repeat it. */
  #replay: RepeatWindow | undefined

  /** `max`: identities to remember; a replay remembers as many again. */
  constructor(max: number) {
    this.#max = max
    this.main = new RepeatWindow(max)
  }

  /** Identities remembered now. */
  get size(): number {
    return this.main.size + (this.#replay?.size ?? 0)
  }

  /** An empty window for a replay, to be filled with what stood before its next position. */
  beginReplay(): RepeatWindow {
    this.#replay = new RepeatWindow(this.#max)
    return this.#replay
  }

  /** A judgement of one range. */
  open(range: JudgedRange): Judgement {
    const window = range.replay ? (this.#replay ?? this.beginReplay()) : this.main
    let batch: Batch | undefined
    return {
      judge: prints => {
        window.trim()
        const from = window.mark
        const runs = range.replay ? this.#judgeAgain(prints, range) : this.#judgeNew(prints)
        batch = { from, to: window.mark }
        return runs
      },
      undo: () => {
        if (batch) window.undo(batch)
        batch = undefined
      },
    }
  }

  /**
   * A judgement of a range that an intent holds already, whose claims were learned: its own identities are its own, those of
   * others are not, however the range is read now.
   */
  reopen({ from, to }: Pick<JudgedRange, 'from' | 'to'>): Judgement {
    // Positions are kept modulo 2^32: distances are not.
    const isOwn = (at: number | undefined): boolean => at === undefined || (at - from) >>> 0 <= to - from
    return {
      judge: prints => {
        const list = new RepeatWindow(this.#max)
        return runsOf(prints, (words, sequence) => {
          if (!isOwn(this.main.positionOf(words)) || !isOwn(this.#replay?.positionOf(words))) return true
          if (!list.add(words, sequence)) return true
          if (!this.main.add(words, sequence)) this.main.move(words, sequence)
          return false
        })
      },
      undo: () => {},
    }
  }

  /** Remembers what a recorded intent stores: all of its units but its repeats. */
  learn(prints: Fingerprints, repeats: readonly OrdinalRun[]): void {
    let run = 0
    runsOf(prints, (words, sequence, ordinal) => {
      while (run < repeats.length && (repeats[run] as OrdinalRun)[1] < ordinal) run++
      const dropped = run < repeats.length && (repeats[run] as OrdinalRun)[0] <= ordinal
      if (!dropped) this.main.add(words, sequence)
      return false
    })
    this.main.trim()
  }

  #judgeNew(prints: Fingerprints): OrdinalRun[] {
    return runsOf(prints, (words, sequence) => {
      if (this.#replay?.positionOf(words) !== undefined) return true
      return !this.main.add(words, sequence)
    })
  }

  #judgeAgain(prints: Fingerprints, { from, to }: JudgedRange): OrdinalRun[] {
    const window = this.#replay as RepeatWindow
    return runsOf(prints, (words, sequence) => {
      const at = this.main.positionOf(words)
      // Positions are kept modulo 2^32: distances are not.
      const own = at === undefined || (at - from) >>> 0 <= to - from
      if (!own || !window.add(words, sequence)) return true
      // It may have stood at another position of the range, or nowhere yet: later judgements go by where it stands now.
      if (at !== undefined) this.main.move(words, sequence)
      else if (this.main.isComplete) this.main.add(words, sequence)
      return false
    })
  }
}
