// Rows of whole conversations. What the parts of a request ask for at once is read by one statement: what failed of late, and who was
// active, are mostly in the same hours.
import { setImmediate } from 'node:timers/promises'
import type { Reader } from '../reader.ts'
import { NEWEST_FIRST } from './conversation-events.ts'
import { type ConversationBounds, type ConversationFacts, withinBounds } from './conversation-facts.ts'
import { EVENT_COLUMNS, type EventRecord } from './events.ts'
import { OURS } from './sql.ts'

/** A row of `events` with what tells a stand-in. */
export type WholeRecord = EventRecord & Pick<ConversationFacts, 'provisional'>

const rowsSql = (all: readonly ConversationBounds[]): string => `
  SELECT ${EVENT_COLUMNS}, provisional
  FROM events FINAL
  PREWHERE ${OURS} AND (${all.map((_, i) => `(${withinBounds(`_${i}`)})`).join('\n      OR ')})
  ORDER BY ${NEWEST_FIRST}`

interface Asked {
  readonly bounds: ConversationBounds[]
  readonly rows: Promise<readonly WholeRecord[]>
}

/** What is about to be read, by the reader of the request. */
const asked = new WeakMap<Reader, Asked>()

/** All rows of some conversations, newest first. */
export async function readConversationRows(reader: Reader, bounds: ConversationBounds): Promise<WholeRecord[]> {
  const waiting = asked.get(reader) ?? begin(reader)
  waiting.bounds.push(bounds)
  const ours = new Set(bounds.conversations)
  return (await waiting.rows).filter(row => ours.has(row.conversation_id))
}

function begin(reader: Reader): Asked {
  const bounds: ConversationBounds[] = []
  const read = async (): Promise<readonly WholeRecord[]> => {
    // Parts that wait for nothing but memory have asked by then.
    await setImmediate()
    asked.delete(reader)
    const parameters = bounds.flatMap((one, i) => Object.entries(one).map(([name, value]) => [`${name}_${i}`, value]))
    return reader.read<WholeRecord>('conversation_whole', rowsSql(bounds), Object.fromEntries(parameters))
  }
  const waiting = { bounds, rows: read() }
  asked.set(reader, waiting)
  return waiting
}
