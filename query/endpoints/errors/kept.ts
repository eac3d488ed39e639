// A page of failures as kept days choose it -> its rows: their conversations are read whole where these are short, so that calls that lend
// their texts are among them.
import type { ErrorsRequest } from '#proto/dashboard/errors.ts'
import type { KeptBounds } from '../../days/bounds.ts'
import { type FailedEvent, type KeptFailures, neededOf, readKeptFailures } from '../../days/failed-page.ts'
import type { Call } from '../../endpoint.ts'
import { eventConditions, type KeyFilter, onlyMetadataOf } from '../../filters.ts'
import { sliceOf } from '../../page.ts'
import type { Reader } from '../../reader.ts'
import { readConversationRows } from '../../reads/conversation-rows.ts'
import { type EventKey, type EventRecord, eventsAmong, identityOf, readEvents } from '../../reads/events.ts'
import { lendersAmong } from '../../reads/lenders.ts'
import { WHOLE_MAX_EVENTS } from '../../reads/whole-conversations.ts'
import { windowOf } from '../../window.ts'
import { fillRows, type LogRow } from '../raw-logs/list.ts'

/** A page, and what was found of it and of the next one. */
export interface FailurePage {
  readonly found: readonly EventKey[]
  readonly rows: readonly LogRow[]
}

/** The page from kept days, which know what failed and whose it is. Null: they don't. */
export async function readKeptPage(call: Call, request: ErrorsRequest): Promise<FailurePage | null> {
  const { kept, reader, organization, nowMs } = call
  const filters = onlyMetadataOf(request)
  if (filters.length === 0 && eventConditions(request).sql.length > 0) return null
  const slice = sliceOf(request)
  const asked = { organization: organization.id, window: windowOf(request, nowMs), filters, slice }
  const read = (of: KeptFailures): Promise<Records> => readRecords(reader, neededOf(of, slice), of.known)
  let early: { readonly guess: KeptFailures; readonly records: Promise<Records> } | undefined
  const chosen = await readKeptFailures(kept, reader, asked, guess => {
    early = { guess, records: read(guess) }
    // Whoever needs it hears of its failure.
    early.records.catch(() => undefined)
  })
  if (chosen === null) return null
  const { failures, areSure } = chosen
  const { records, all } = await (early?.guess === chosen ? early.records : read(chosen))
  // What members arrays have is the store's to say.
  if (!areSure && records.some(({ metadata }) => filters.some(({ key }) => metadata[key]?.startsWith('[')))) return null
  // What surely passes was chosen already.
  const passing = areSure ? [] : records.filter(passes(failures, filters)).slice(slice.offset)
  const shown = areSure ? records : passing.slice(0, request.page_size)
  const known = all === undefined ? {} : { lenders: lendersAmong(all, shown) }
  const rows = await fillRows(call, shown, request.exclude_io, known)
  return { found: (areSure ? failures.slice(slice.offset) : passing).slice(0, slice.limit), rows }
}

interface Records {
  readonly records: readonly EventRecord[]
  /** All rows of their conversations, where they have been read. */
  readonly all?: readonly EventRecord[]
}

async function readRecords(
  reader: Reader,
  needed: readonly EventKey[],
  { bounds, events }: KeptBounds,
): Promise<Records> {
  if (bounds === null || events > WHOLE_MAX_EVENTS) return { records: await readEvents(reader, needed) }
  const all = await readConversationRows(reader, bounds)
  return { records: eventsAmong(all, needed), all }
}

/** Whether a row of one of some failures meets all filters, itself or by captures of its conversation. */
function passes(failures: readonly FailedEvent[], filters: readonly KeyFilter[]): (record: EventRecord) => boolean {
  const captured = new Map(failures.map(failure => [identityOf(failure), failure.captured]))
  return record =>
    captured.get(identityOf(record))?.every((met, i) => met || saysOne(record.metadata, filters[i] as KeyFilter)) ??
    true
}

/** What `saysOneOf` asks the store of what is no array. */
const saysOne = (metadata: EventRecord['metadata'], { key, values }: KeyFilter): boolean =>
  Object.hasOwn(metadata, key) && values.includes(metadata[key] as string)
