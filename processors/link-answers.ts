// Records of ranges with links -> the traces that these links touch, with what all links of each say. The owners of a process and its memory
// of links have the same question about each record, so it is asked once. No answer is older than the record that it is about.
import type { Log } from '#runtime/log.ts'
import type { Store } from '#store/client.ts'
import { hasLinks, type PlacedRecord } from './finished-ranges.ts'
import { LinkedBefore } from './linked-before.ts'
import { type AwayRows, type LinkedTrace, linkedTraces, positionsOf, tracesAway, tracesOfLinks } from './moves.ts'

/** What the store says of links, for all who ask in this process. Records come in the order of the stream, those without links too. */
export interface LinkAnswers {
  /**
   * Traces that links of these ranges touch. Of each it says at least what was stored before the last of the records that touch it
   * stood in the stream. There may be more traces, of other ranges. @throws when the store is away.
   */
  tracesOf(records: readonly PlacedRecord[]): Promise<readonly LinkedTrace[]>
  /** Traces of rows that may be away from home and of which a link is known, of a record up to `last`. @throws when the store is away. */
  tracesAway(ranges: AwayRows, last: number): Promise<readonly LinkedTrace[]>
}

/** What was asked together. */
interface Question {
  /** The records' positions in the stream. */
  readonly positions: readonly number[]
  /** The last of them. */
  readonly last: number
  /** Resolves when it is known which traces there are, or that it will not be. */
  readonly told: Promise<unknown>
  readonly answer: Promise<readonly LinkedTrace[]>
  /** Traces of the answer, once it is there. */
  traces: number
}

/** Those who ask do so within a round of each other (mover.ts). */
const KEPT_MS = 10_000
/** Traces of all answers that are kept: some 20 MiB. */
const KEPT_TRACES = 40_000

/** Answers of one store. */
export function createLinkAnswers(store: Store, log: Log, bounds: Bounds = {}): LinkAnswers {
  return new Answers(store, log, bounds)
}

/** How long answers are kept, and of how many traces at most; for tests. */
interface Bounds {
  readonly keptMs?: number
  readonly traces?: number
}

class Answers implements LinkAnswers {
  readonly #store: Store
  readonly #before: LinkedBefore
  readonly #keptMs: number
  readonly #most: number
  /** In the order in which they were asked. */
  readonly #questions = new Set<Question>()
  readonly #byPosition = new Map<number, Question>()

  constructor(store: Store, log: Log, { keptMs = KEPT_MS, traces = KEPT_TRACES }: Bounds) {
    this.#store = store
    this.#before = new LinkedBefore(store, log)
    this.#keptMs = keptMs
    this.#most = traces
  }

  async tracesOf(records: readonly PlacedRecord[]): Promise<readonly LinkedTrace[]> {
    this.#before.hear(records)
    const unknown = records.filter(one => hasLinks(one) && !this.#byPosition.has(one.position))
    if (unknown.length > 0) this.#ask(unknown)
    const asked = new Set(records.flatMap(({ position }) => this.#byPosition.get(position) ?? []))
    return newest([...asked])
  }

  async tracesAway(ranges: AwayRows, last: number): Promise<readonly LinkedTrace[]> {
    if (ranges.rows.length + ranges.placed.length === 0) return []
    const away = await tracesAway(this.#store, ranges)
    const linked = this.#before.doubtful(away, last)
    return linked.length === 0 ? [] : linkedTraces(this.#store, linked)
  }

  #ask(records: readonly PlacedRecord[]): void {
    const positions = records.map(({ position }) => position)
    const last = Math.max(...positions)
    const earlier = [...this.#questions].map(({ told }) => told)
    const links = tracesOfLinks(this.#store, positionsOf(records.map(({ record }) => record)))
    const told = links.then(async traces => {
      await Promise.allSettled(earlier)
      const doubtful = this.#before.doubtful(traces, last, positions)
      this.#before.add(traces, positions)
      return { traces, doubtful }
    })
    const answer = told.then(async ({ traces, doubtful }) => {
      if (doubtful.length === 0) return traces
      const names = new Set(doubtful.map(({ provisional }) => provisional))
      const whole = await linkedTraces(this.#store, doubtful)
      return [...traces.filter(({ provisional }) => !names.has(provisional)), ...whole]
    })
    this.#keep({ positions, last, told, answer, traces: 0 })
  }

  #keep(question: Question): void {
    this.#questions.add(question)
    for (const position of question.positions) this.#byPosition.set(position, question)
    const timer = setTimeout(() => this.#forget(question), this.#keptMs).unref()
    question.answer.then(
      ({ length }) => {
        question.traces = length
        this.#bound()
      },
      () => {
        clearTimeout(timer)
        this.#forget(question)
      },
    )
  }

  #forget(question: Question): void {
    if (!this.#questions.delete(question)) return
    for (const position of question.positions) this.#byPosition.delete(position)
  }

  /** The latest answers stay, as far as they are not too many. */
  #bound(): void {
    let kept = 0
    for (const question of [...this.#questions].reverse()) {
      kept += question.traces
      if (kept > this.#most) this.#forget(question)
    }
  }
}

/** Of a trace of several answers the one about the last record holds: whoever asked it had all records before. */
async function newest(questions: readonly Question[]): Promise<readonly LinkedTrace[]> {
  if (questions.length === 1) return (questions[0] as Question).answer
  const answers = questions.toSorted((a, b) => a.last - b.last).map(({ answer }) => answer)
  const traces = new Map<string, LinkedTrace>()
  for (const answer of await Promise.all(answers)) for (const trace of answer) traces.set(trace.provisional, trace)
  return [...traces.values()]
}
