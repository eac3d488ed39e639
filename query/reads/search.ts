// What is searched for -> the keys of the events that hold it, newest first. Words stand in an index of `texts`; the newest texts that hold
// them are asked for first, and then which events they belong to, beside those whose name or ids hold what is searched for.
import { sqlMillis } from '#proto/time.ts'
import type { Conditions } from '../filters.ts'
import { allOf, andAll, NOTHING } from '../filters.ts'
import type { Slice } from '../page.ts'
import { sliceParameters } from '../page.ts'
import type { Parameters, Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { windowBetween } from '../window.ts'
import type { FoundText } from './borrowed.ts'
import { BORROWED_WITHIN_MS, readBorrowers } from './borrowed.ts'
import type { EventKey } from './events.ts'
import { pageSql, readLogPage } from './log-page.ts'
import { OURS, sqlTime, TEXT_ORDER } from './sql.ts'

/** Texts that are named one by one. Where more hold it, the newest reach back far enough for most pages. */
const FOUND_MAX = 10_000
/** Texts that are named first for each event that a page without filters shows or skips. */
const FOUND_EACH = 4
/** Events that are named by what their names and ids hold. */
const NAMED_MAX = 1_000
/** Of longer windows the newest months are looked through first, this much and what the month before it has left: most pages end there. */
const NEWEST_MS = 15 * 86_400_000
const LONG_MS = 62 * 86_400_000
/** Shorter words stand in too much of the index. */
const WORD = /[a-z0-9]{2,}/gi
const WORDS_MAX = 8

/** The expression of the index `words`, to the letter: nothing else is answered by it. */
const BOTH = `lowerUTF8(concat(input, '\\n', output))`
/**
 * By default the index answers patterns of four letters and more whose words are few; the scan of its dictionary costs the same for
 * others, and the alternative is to read every text.
 */
const BY_INDEX = { text_index_like_min_pattern_length: 2, text_index_like_max_postings_to_read: 100_000 }

/** The text anywhere, ignoring case; `{search:String}` is what is looked for. */
export const contains = (text: string): string => `position(lowerUTF8(${text}), lowerUTF8({search:String})) > 0`
const anyOf = (conditions: readonly string[]): string => conditions.join('\n      OR ')

/** A search, taken apart. */
export interface Search {
  readonly text: string
  /** Conditions on `texts` that its index answers; none of them, and every text would have to be read. */
  readonly words: Conditions
  /** The index says it all: what holds the words holds the search. */
  readonly exact: boolean
}

/**
 * Takes a search apart. The index knows words: letters of other scripts belong to them, but only runs of ASCII letters and digits can be
 * looked for inside of them. A text that holds the search holds all of its runs, each within one word.
 */
export function searchFor(text: string): Search {
  const runs = [...new Set(text.match(WORD))].slice(0, WORDS_MAX)
  return {
    text,
    words: {
      sql: runs.map((_, i) => `${BOTH} LIKE concat('%', lowerUTF8({run_${i}:String}), '%')`),
      parameters: Object.fromEntries(runs.map((run, i) => [`run_${i}`, run])),
    },
    exact: runs[0] === text,
  }
}

/** The search within name and ids. Ids of 128 bits are compared only with what could be a piece of one. */
export function ownCondition(text: string): Conditions {
  const ids = /^[0-9a-f-]+$/i.test(text)
    ? ['toString(event_id)', 'toString(conversation_id)', `replaceAll(toString(trace_id), '-', '')`]
    : []
  return { sql: [anyOf(['name', 'session_id', 'user_id', ...ids].map(contains))], parameters: { search: text } }
}

/** The search in previews alone: a preview is a beginning of its text, so what is found in it is found. */
export const PREVIEWS = anyOf(['input_preview', 'output_preview'].map(contains))

/** Events of the window that may meet conditions: what was reversed is among them. */
const meeting = (conditions: Conditions): string => `event_id IN (
      SELECT event_id FROM events
      WHERE ${OURS} AND ts >= {from:DateTime64(9, 'UTC')} AND ts <= {until:DateTime64(9, 'UTC')}${andAll(conditions.sql)})`

/** Texts of the window that hold the words, by the index and, where that knows less, by the text. */
const holding = ({ words, exact }: Search): string => `
  FROM texts
  WHERE ${OURS} AND ts >= {from:DateTime64(9, 'UTC')} AND ts <= {until:DateTime64(9, 'UTC')}
    AND ${words.sql.join('\n    AND ')}${exact ? '' : `\n    AND (${contains('input')} OR ${contains('output')})`}`

/** The newest of them; under conditions those of events that may meet these. */
export const foundSql = (search: Search, conditions: Conditions = NOTHING): string => `
  SELECT event_id, group_id, ts ${holding(search)}${conditions.sql.length === 0 ? '' : `\n    AND ${meeting(conditions)}`}
  ORDER BY ts DESC
  LIMIT {most:UInt32} WITH TIES`

/** Of events with more than one text: those whose last one, which is the one that counts, does not hold the search. */
const outdatedSql = (keys: string): string => `
  SELECT event_id
  FROM texts
  WHERE ${OURS} AND (group_id, event_id) IN (
      SELECT group_id, event_id FROM texts
      WHERE ${OURS} AND ${keys}
      GROUP BY group_id, event_id HAVING count() > 1)
  GROUP BY event_id
  HAVING NOT argMax(${contains('input')} OR ${contains('output')}, ${TEXT_ORDER})`
const OUTDATED = outdatedSql('group_id IN {groups:Array(UUID)} AND event_id IN {found:Array(UUID)}')

/** Days of the window that have more events with texts than texts: these are kept for a shorter time. */
const BARE_DAYS = `
  SELECT day
  FROM (
    SELECT toDate(ts) AS day, toInt64(sum(sign)) AS events, toInt64(0) AS held FROM events
    WHERE ${OURS} AND ts >= {from:DateTime64(9, 'UTC')} AND ts <= {until:DateTime64(9, 'UTC')} AND input_bytes + output_bytes > 0
    GROUP BY day
    UNION ALL
    SELECT toDate(ts) AS day, toInt64(0) AS events, toInt64(count()) AS held FROM texts
    WHERE ${OURS} AND ts >= {from:DateTime64(9, 'UTC')} AND ts <= {until:DateTime64(9, 'UTC')}
    GROUP BY day
  )
  GROUP BY day
  HAVING sum(events) > sum(held)`

/** What is looked for, where, and which part of it. */
export interface Looking {
  readonly search: Search
  readonly window: Window
  /** The other conditions of the request. */
  readonly conditions: Conditions
  readonly slice: Slice
  readonly nowMs: number
  /** For tests: texts that are named, and events. */
  readonly foundMax?: number
  readonly namedMax?: number
}

/** Keys of a page of what holds the search: by name, by ids or by texts. */
export async function readFoundKeys(reader: Reader, looking: Looking): Promise<EventKey[]> {
  const newest = newestOf(looking)
  if (newest !== null) {
    const keys = await readKeysIn(reader, { ...looking, window: newest })
    if (keys.length === looking.slice.limit) return keys
  }
  return readKeysIn(reader, looking)
}

/** The newest of a long window, from the beginning of a month, which is where texts are divided; null of a short one. */
function newestOf({ window, slice, nowMs }: Looking): Window | null {
  const endMs = Math.min(slice.after === undefined ? nowMs : Date.parse(slice.after.at), nowMs, window.toMs)
  if (endMs - window.fromMs <= LONG_MS) return null
  const within = new Date(endMs - NEWEST_MS)
  return windowBetween(Date.UTC(within.getUTCFullYear(), within.getUTCMonth(), 1), window.toMs, window.timezone)
}

/** What is looked for in a window, and up to the page's end. */
function boundsOf({ search, window, slice }: Looking): { from: string; until: string } & Parameters {
  const { from, to } = window.parameters
  const until = slice.after === undefined ? to : sqlTime(slice.after.at)
  return { from, until, search: search.text, ...search.words.parameters }
}

/** The newest texts that hold it, and as much longer as calls may come after the turns that borrow from them. */
function readFound(reader: Reader, looking: Looking, most: number): Promise<FoundText[]> {
  const bounds = boundsOf(looking)
  const parameters = { ...bounds, until: later(bounds.until), most }
  return reader.read<FoundText>('search_texts', foundSql(looking.search), parameters, BY_INDEX)
}

/** The newest texts that hold it, of events that may meet the conditions. */
function readMeeting(reader: Reader, looking: Looking, most: number): Promise<FoundText[]> {
  const { search, conditions, window } = looking
  const parameters = { ...boundsOf(looking), ...conditions.parameters, to: window.parameters.to, most }
  return reader.read<FoundText>('search_texts', foundSql(search, conditions), parameters, BY_INDEX)
}

async function readBareDays(reader: Reader, looking: Looking): Promise<readonly string[]> {
  const rows = await reader.read<{ day: string }>('search_bare_days', BARE_DAYS, boundsOf(looking))
  return rows.map(({ day }) => day)
}

const readKeysIn = (reader: Reader, looking: Looking): Promise<EventKey[]> =>
  looking.conditions.sql.length === 0 ? readUnfiltered(reader, looking) : readFiltered(reader, looking)

/** Few texts are of events that meet the conditions: these are found by both at once, or most of the newest texts would be named for nothing. */
async function readFiltered(reader: Reader, looking: Looking): Promise<EventKey[]> {
  const { search, window, slice, foundMax = FOUND_MAX } = looking
  const [{ found, held }, turns, days] = await Promise.all([
    readMeeting(reader, looking, foundMax).then(async found => ({
      found,
      held: await standing(reader, search, found),
    })),
    // A turn meets them, or does not, whatever the call does that it borrows from.
    readFound(reader, looking, foundMax).then(found =>
      readBorrowers(reader, { found, holds: contains, search: search.text }),
    ),
    readBareDays(reader, looking),
  ])
  const oldest = found.length < foundMax ? undefined : found.at(-1)?.ts
  const lower = oldest === undefined ? window.parameters.from : sqlTime(oldest)
  const keys = await readWith(reader, looking, [...held, ...turns], days, lower)
  return oldest === undefined || keys.length === slice.limit ? keys : readBehind(reader, looking, turns, days)
}

async function readUnfiltered(reader: Reader, looking: Looking): Promise<EventKey[]> {
  const { search, window, slice, foundMax = FOUND_MAX } = looking
  const bare = readBareDays(reader, looking)
  // Handled where it is awaited; what fails before that is told first.
  bare.catch(() => undefined)
  // Nearly every text that is found is on the page.
  for (let most = Math.min(FOUND_EACH * (slice.offset + slice.limit), foundMax); ; most = foundMax) {
    const found = await readFound(reader, looking, most)
    const held = await standing(reader, search, found)
    const turns = await readBorrowers(reader, { found: held, holds: contains, search: search.text })
    const days = await bare
    const oldest = found.length < most ? undefined : found.at(-1)?.ts
    if (oldest === undefined) return readWith(reader, looking, [...held, ...turns], days, window.parameters.from)
    // All that holds it since then is known by name; most pages end there.
    const recent = await readWith(reader, looking, [...held, ...turns], days, sqlTime(oldest))
    if (recent.length === slice.limit) return recent
    if (most === foundMax) return readBehind(reader, looking, turns, days)
  }
}

/** A time by as much later as a call may begin after the turn that borrows from it. */
function later(time: string): string {
  return sqlMillis(Date.parse(`${time.slice(0, 23).replace(' ', 'T')}Z`) + BORROWED_WITHIN_MS)
}

/** What was found and still counts. */
async function standing(reader: Reader, search: Search, found: readonly FoundText[]): Promise<readonly FoundText[]> {
  if (found.length === 0) return found
  const outdated = await reader.read<{ event_id: string }>('search_outdated', OUTDATED, {
    search: search.text,
    groups: [...new Set(found.map(({ group_id }) => group_id))],
    found: found.map(({ event_id }) => event_id),
  })
  const gone = new Set(outdated.map(({ event_id }) => event_id))
  return gone.size === 0 ? found : found.filter(({ event_id }) => !gone.has(event_id))
}

/** Events of which anything but the texts holds the search. Reversed rows may say so for nothing. */
const namedSql = ({ sql }: Conditions): string => `
  SELECT event_id, ts
  FROM events
  WHERE ${OURS} AND ts >= {since:DateTime64(9, 'UTC')} AND ts <= {until:DateTime64(9, 'UTC')}${andAll(sql)}
  LIMIT {most:UInt32}`

/** Events by their keys, in the hours of their instants. */
const KNOWN = [`ts IN {found_at:Array(DateTime64(9, 'UTC'))}`, 'event_id IN {known:Array(UUID)}']

/** The page since `lower`, when the texts that hold the search are known. */
async function readWith(
  reader: Reader,
  looking: Looking,
  events: readonly FoundText[],
  days: readonly string[],
  lower: string,
): Promise<EventKey[]> {
  const { search, window, conditions, slice, nowMs, namedMax = NAMED_MAX } = looking
  const { from, to } = window.parameters
  const own = ownOrPreview(search, days)
  const until = slice.after === undefined ? to : sqlTime(slice.after.at)
  const inTexts = { sql: ['event_id IN {found:Array(UUID)}'], parameters: { found: events.map(e => e.event_id) } }
  const filtered = allOf(own, conditions)
  const named = await reader.read<Pick<FoundText, 'event_id' | 'ts'>>('search_names', namedSql(filtered), {
    ...filtered.parameters,
    ...{ since: lower, from, until, to, most: namedMax },
  })
  const either = {
    sql: [anyOf([...own.sql, ...inTexts.sql])],
    parameters: { ...own.parameters, ...inTexts.parameters },
  }
  if (named.length < namedMax) {
    const known = [...events, ...named]
    // Their times narrow the rows to the hours where they stand.
    const times = [...new Set(known.map(({ ts }) => sqlTime(ts)))].sort()
    const [first] = times
    if (first === undefined) return []
    // A row that says so and was reversed does not count: what stands is asked again.
    const all = named.length === 0 ? conditions : allOf(either, conditions)
    return reader.read<EventKey>('search_keys', pageSql(all, slice, KNOWN), {
      ...all.parameters,
      ...sliceParameters(slice),
      ...{ found_at: times, known: known.map(({ event_id }) => event_id) },
      ...{ lower: first > lower ? first : lower, to },
    })
  }
  return readLogPage(reader, {
    ...{ slice, nowMs, conversation: undefined },
    conditions: allOf(either, conditions),
    window: {
      ...window,
      fromMs: Date.parse(`${lower.replace(' ', 'T')}Z`),
      parameters: { ...window.parameters, from: lower },
    },
  })
}

/** The page over the whole window, with the texts asked for inside of the query: they are too many to be named. */
function readBehind(
  reader: Reader,
  looking: Looking,
  turns: readonly FoundText[],
  days: readonly string[],
): Promise<EventKey[]> {
  const { search, window, conditions, slice } = looking
  const { from, to } = window.parameters
  const until = slice.after === undefined ? to : sqlTime(slice.after.at)
  const own = ownOrPreview(search, days)
  const outdated = outdatedSql(`(group_id, event_id) IN (SELECT group_id, event_id ${holding(search)})`)
  const borrowed = 'event_id IN {turns:Array(UUID)}'
  const inTexts = `event_id IN (SELECT event_id ${holding(search)}) AND event_id NOT IN (${outdated})`
  const all = allOf({ sql: [anyOf([...own.sql, borrowed, inTexts])], parameters: own.parameters }, conditions)
  const parameters = {
    ...all.parameters,
    ...search.words.parameters,
    ...sliceParameters(slice),
    turns: turns.map(({ event_id }) => event_id),
    from,
    until,
    lower: from,
    to,
  }
  return reader.read<EventKey>('search_keys', pageSql(all, slice), parameters, BY_INDEX)
}

function ownOrPreview(search: Search, days: readonly string[]): Conditions {
  const own = ownCondition(search.text)
  if (days.length === 0) return own
  return {
    sql: [anyOf([...own.sql, `toDate(ts) IN {bare_days:Array(Date)} AND (${PREVIEWS})`])],
    parameters: { ...own.parameters, bare_days: days },
  }
}
