// Records of ranges with links -> the traces that these links touch, with what all links of each say. The owners of a process and its memory
// of links have the same question about each record, so it is asked once. No answer is older than the record that it is about.
import type { Store } from '#store/client.ts'
import type { PlacedRecord } from './finished-ranges.ts'
import { type LinkedTrace, linkedTraces, positionsOf } from './moves.ts'

/** What the store says of links, for all who ask in this process. */
export interface LinkAnswers {
  /**
   * Traces that links of these ranges touch. Of each it says at least what was stored before the last of the records that touch it
   * stood in the stream. There may be more traces, of other ranges. @throws when the store is away.
   */
  tracesOf(records: readonly PlacedRecord[]): Promise<readonly LinkedTrace[]>
}

/** What was asked together. */
interface Question {
  /** The records' positions in the stream. */
  readonly positions: readonly number[]
  /** The last of them. */
  readonly last: number
  readonly answer: Promise<readonly LinkedTrace[]>
  /** Traces of the answer, once it is there. */
  traces: number
}

/** Those who ask do so within a round of each other (mover.ts). */
const KEPT_MS = 10_000
/** Traces of all answers that are kept: some 20 MiB. */
const KEPT_TRACES = 40_000

/** Whether a record tells of links. */
export const hasLinks = ({ record }: PlacedRecord): boolean => (record.rows.links ?? 0) > 0

/** How long answers are kept, and of how many traces at most; for tests. */
interface Bounds {
  readonly keptMs?: number
  readonly traces?: number
}

/** Answers of one store. */
export function createLinkAnswers(
  store: Store,
  { keptMs = KEPT_MS, traces: most = KEPT_TRACES }: Bounds = {},
): LinkAnswers {
  // In the order in which they were asked.
  const questions = new Set<Question>()
  const byPosition = new Map<number, Question>()

  const forget = (question: Question): void => {
    if (!questions.delete(question)) return
    for (const position of question.positions) byPosition.delete(position)
  }

  /** An answer that is late or large must not push out what others are about to ask for, but nothing grows without end. */
  const bound = (): void => {
    let kept = 0
    for (const question of [...questions].reverse()) {
      kept += question.traces
      if (kept > most) forget(question)
    }
  }

  const ask = (records: readonly PlacedRecord[]): void => {
    const positions = records.map(({ position }) => position)
    const answer = linkedTraces(store, { links: positionsOf(records.map(({ record }) => record)), rows: [] })
    const question: Question = { positions, last: Math.max(...positions), answer, traces: 0 }
    questions.add(question)
    for (const position of positions) byPosition.set(position, question)
    const timer = setTimeout(forget, keptMs, question).unref()
    answer.then(
      traces => {
        question.traces = traces.length
        bound()
      },
      () => {
        clearTimeout(timer)
        forget(question)
      },
    )
  }

  return {
    tracesOf: async records => {
      const unknown = records.filter(one => hasLinks(one) && !byPosition.has(one.position))
      if (unknown.length > 0) ask(unknown)
      const asked = new Set(records.flatMap(({ position }) => byPosition.get(position) ?? []))
      return newest([...asked])
    },
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
