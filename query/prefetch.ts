// A request that is asked again and again -> the reads that its last two answers both made, begun with it: what would wait for other reads
// finds them under way. Each begins after its request did, so an answer says nothing older than it would without.
import type { ClickHouseSettings } from '@clickhouse/client'
import type { Metrics } from '#runtime/metrics.ts'
import { keepRecent } from './days/recent.ts'
import type { Question } from './questions.ts'
import type { Parameters, Reader } from './reader.ts'

/** Requests whose reads are remembered: those that were asked last. */
const REQUESTS_MAX = 128
/** Characters of a request that is remembered: a body may be a thousand times as long. */
const REQUEST_MAX = 4 * 1024
/** Characters that the reads of one request may take; those of a page of fifty are half as long. */
const REMEMBERED_MAX = 64 * 1024

/**
 * What may be read before what it would have waited for: each looks up what its parameters name, so that an answer may hold several of
 * them from any moments of its request. Who chooses a page, or asks for days and their versions, relies on the order in which he asks.
 */
const EXCHANGEABLE: ReadonlySet<Question> = new Set<Question>([
  ...([
    'captures',
    'conversation_bounds',
    'conversation_children',
    'conversation_facts',
    'conversation_newest',
  ] as const),
  ...([
    'conversation_oldest',
    'conversation_spans',
    'conversation_whole',
    'costs',
    'event_by_id',
    'events',
    'log_page',
    'log_reach',
  ] as const),
  ...(['senders', 'session_users', 'sessions', 'texts', 'turn_texts'] as const),
])

/** A read, as it is asked. */
interface Read {
  readonly question: Question
  readonly sql: string
  readonly parameters: Parameters | undefined
  readonly settings: ClickHouseSettings | undefined
}

/** Reads of an answer by their text, and whether the answer before it made them, too. */
type Answered = ReadonlyMap<string, { readonly read: Read; readonly again: boolean }>

/** One request. */
export interface Prefetched {
  /** Reads for it. */
  readonly reader: Reader
  /** It is answered: what it read is remembered. */
  answered(): void
}

/** What requests read. */
export interface Prefetch {
  /** Begins what a request is about to read. `request` is all that its answer depends on besides the store. */
  begin(request: string, reader: Reader): Prefetched
}

/**
 * Remembers nothing yet. At most `atOnce` reads of a request begin with it, those that it asked for last: what waits longest. It should be
 * fewer than an organization may run at once, or what a request asks for first would wait for its turn.
 */
export function createPrefetch(metrics: Metrics, atOnce: number): Prefetch {
  const begun = metrics.counter('query_prefetched_total', 'reads that began with their request, by outcome', [
    'outcome',
  ])
  const remembered = new Map<string, Answered>()
  return {
    begin(request, reader) {
      if (request.length > REQUEST_MAX) return { reader, answered: () => undefined }
      const before: Answered = remembered.get(request) ?? new Map()
      const early = beginAll(before, reader, atOnce)
      const made = new Map<string, Read>()
      return {
        reader: watch(reader, made, text => {
          const rows = early.get(text)
          // Whoever asks for the same twice wants it anew.
          if (early.delete(text)) begun.inc({ outcome: 'used' })
          return rows
        }),
        answered() {
          if (early.size > 0) begun.inc({ outcome: 'unused' }, early.size)
          keepRecent(remembered, [request, answeredBy(made, before)], REQUESTS_MAX)
        },
      }
    },
  }
}

type Rows = Promise<unknown[]>

function beginAll(before: Answered, reader: Reader, atOnce: number): Map<string, Rows> {
  const early = new Map<string, Rows>()
  const asked = [...before].filter(([, { again }]) => again)
  for (const [text, { read }] of asked.slice(Math.max(asked.length - atOnce, 0))) {
    const rows = reader.read<unknown>(read.question, read.sql, read.parameters, read.settings)
    // Whoever asks for it hears of its failure; where nobody does there is nobody to tell.
    rows.catch(() => undefined)
    early.set(text, rows)
  }
  return early
}

/** Reads of a request: notes them, and takes those that are under way. */
function watch(inner: Reader, made: Map<string, Read>, take: (text: string) => Rows | undefined): Reader {
  return {
    bounded: () => watch(inner.bounded(), made, take),
    read: async <T>(question: Question, sql: string, parameters?: Parameters, settings?: ClickHouseSettings) => {
      if (!EXCHANGEABLE.has(question)) return inner.read<T>(question, sql, parameters, settings)
      const text = JSON.stringify([sql, parameters, settings])
      made.set(text, { question, sql, parameters, settings })
      const rows = take(text) as Promise<T[]> | undefined
      return rows ?? inner.read<T>(question, sql, parameters, settings)
    },
  }
}

function answeredBy(made: ReadonlyMap<string, Read>, before: Answered): Answered {
  let chars = 0
  const reads = [...made].filter(([text]) => {
    chars += text.length
    return chars <= REMEMBERED_MAX
  })
  return new Map(reads.map(([text, read]) => [text, { read, again: before.has(text) }]))
}
