// Rows of each table -> its columns. Names, types and their order are those of store/migrations/; a test compares the two.
import { NIL_UUID } from '#proto/ids.ts'
import {
  type BlockTable,
  type EventKind,
  type EventRow,
  type LinkRow,
  type Origin,
  type SessionRow,
  sources,
  type TextRow,
} from '#proto/rows.ts'
import { DecimalTextColumn, EnumColumn, IntegerColumn, LongColumn, TimeColumn, UuidColumn } from './fixed.ts'
import type { Columns } from './native.ts'
import { MapColumn, WordsColumn } from './nested.ts'
import { DictionaryColumn, TextColumn } from './text.ts'

/** The row type of each table. */
export interface TableRows {
  sessions: SessionRow
  texts: TextRow
  links: LinkRow
  events: EventRow
}

/** The columns of each table by name, for who writes a row value by value. */
export interface TableSets {
  sessions: ReturnType<typeof sessionSet>
  texts: ReturnType<typeof textSet>
  links: ReturnType<typeof linkSet>
  events: ReturnType<typeof eventSet>
}

/** The columns of one block. */
export interface TableColumns<T extends BlockTable> {
  readonly columns: Columns & TableSets[T]
  /** @throws Unfit for a value that its column cannot hold; the columns must be cleared then. */
  add(row: TableRows[T], origin: Origin): void
}

const uint8 = (): IntegerColumn => new IntegerColumn('UInt8', 1)
const uint16 = (): IntegerColumn => new IntegerColumn('UInt16', 2)
const uint32 = (): IntegerColumn => new IntegerColumn('UInt32', 4)
const uint64 = (): LongColumn => new LongColumn('UInt64')

const KINDS: readonly EventKind[] = ['agent', 'llm', 'tool', 'resource', 'prompt', 'other']

/** Empty columns of a table. */
export const columnsOf: { readonly [T in BlockTable]: () => TableColumns<T> } = {
  sessions: sessionColumns,
  texts: textColumns,
  links: linkColumns,
  events: eventColumns,
}

function originColumns() {
  return {
    origin_partition: uint16(),
    origin_generation: uint32(),
    origin_sequence: uint64(),
    origin_frame: uint32(),
    origin_index: uint32(),
  }
}

function addOrigin(c: ReturnType<typeof originColumns>, origin: Origin): void {
  c.origin_partition.add(origin.origin_partition)
  c.origin_generation.add(origin.origin_generation)
  c.origin_sequence.add(origin.origin_sequence)
  c.origin_frame.add(origin.origin_frame)
  c.origin_index.add(origin.origin_index)
}

function sessionSet() {
  return {
    organization: new UuidColumn(),
    conversation_id: new UuidColumn(),
    session_id: new TextColumn(),
    source: new EnumColumn(sources),
    user_id: new TextColumn(),
    user_email: new TextColumn(),
    user_data: new MapColumn(),
    metadata: new MapColumn(),
    client_config: new TextColumn(),
    connection_type: new DictionaryColumn(),
    ip: new TextColumn(),
    tools: new WordsColumn(),
    started_at: new TimeColumn(3),
    recording_url: new TextColumn(),
    received_at: new TimeColumn(3),
    retention: uint8(),
    report: new TextColumn(),
    ...originColumns(),
  }
}

function sessionColumns(): TableColumns<'sessions'> {
  const c = sessionSet()
  const add = (row: SessionRow, origin: Origin): void => {
    c.organization.add(row.organization)
    c.conversation_id.add(row.conversation_id)
    c.session_id.add(row.session_id)
    c.source.add(row.source)
    c.user_id.add(row.user_id)
    c.user_email.add(row.user_email)
    c.user_data.add(row.user_data)
    c.metadata.add(row.metadata)
    c.client_config.add(row.client_config)
    c.connection_type.add(row.connection_type)
    c.ip.add(row.ip)
    c.tools.add(row.tools)
    c.started_at.add(row.started_at)
    c.recording_url.add(row.recording_url)
    c.received_at.add(row.received_at)
    c.retention.add(row.retention)
    c.report.add(row.report)
    addOrigin(c, origin)
  }
  return { columns: c, add }
}

function textSet() {
  return {
    organization: new UuidColumn(),
    group_id: new UuidColumn(),
    event_id: new UuidColumn(),
    ts: new TimeColumn(9),
    input: new TextColumn(),
    output: new TextColumn(),
    content: new MapColumn(),
    retention: uint8(),
    ...originColumns(),
  }
}

function textColumns(): TableColumns<'texts'> {
  const c = textSet()
  const add = (row: TextRow, origin: Origin): void => {
    c.organization.add(row.organization)
    c.group_id.add(row.group_id)
    c.event_id.add(row.event_id)
    c.ts.add(row.ts)
    c.input.add(row.input)
    c.output.add(row.output)
    c.content.add(row.content)
    c.retention.add(row.retention)
    addOrigin(c, origin)
  }
  return { columns: c, add }
}

function linkSet() {
  return {
    organization: new UuidColumn(),
    trace_id: new UuidColumn(),
    provisional_id: new UuidColumn(),
    conversation_id: new UuidColumn(),
    session_id: new TextColumn(),
    depth: uint8(),
    started_at: new TimeColumn(9),
    span_id: new DecimalTextColumn('UInt64'),
    retention: uint8(),
    ...originColumns(),
  }
}

function linkColumns(): TableColumns<'links'> {
  const c = linkSet()
  const add = (row: LinkRow, origin: Origin): void => {
    c.organization.add(row.organization)
    c.trace_id.add(row.trace_id)
    c.provisional_id.add(row.provisional_id)
    c.conversation_id.add(row.conversation_id)
    c.session_id.add(row.session_id)
    c.depth.add(row.depth)
    c.started_at.add(row.started_at)
    c.span_id.add(row.span_id)
    c.retention.add(row.retention)
    addOrigin(c, origin)
  }
  return { columns: c, add }
}

/** What says what an event is and whose. */
function identityColumns() {
  return {
    organization: new UuidColumn(),
    conversation_id: new UuidColumn(),
    session_id: new TextColumn(),
    event_id: new UuidColumn(),
    parent_id: new UuidColumn(),
    trace_id: new UuidColumn(),
    span_id: new DecimalTextColumn('UInt64'),
    parent_span_id: new DecimalTextColumn('UInt64'),
    ts: new TimeColumn(9),
    duration_ns: new LongColumn('Int64'),
    latency_bucket: new IntegerColumn('Int16', 2),
    source: new EnumColumn(sources),
    kind: new EnumColumn(KINDS),
    name: new DictionaryColumn(),
    failed: uint8(),
    error_type: new DictionaryColumn(),
    error_message: new TextColumn(),
    user_id: new TextColumn(),
    provisional: uint8(),
    model: new DictionaryColumn(),
    provider: new DictionaryColumn(),
  }
}

function addIdentity(c: ReturnType<typeof identityColumns>, row: EventRow): void {
  c.organization.add(row.organization)
  c.conversation_id.add(row.conversation_id)
  c.session_id.add(row.session_id)
  c.event_id.add(row.event_id)
  c.parent_id.add(row.parent_id)
  c.trace_id.add(row.trace_id)
  c.span_id.add(row.span_id)
  c.parent_span_id.add(row.parent_span_id)
  c.ts.add(row.ts)
  c.duration_ns.add(row.duration_ns)
  c.latency_bucket.add(row.latency_bucket)
  c.source.add(row.source)
  c.kind.add(row.kind)
  c.name.add(row.name)
  c.failed.add(row.failed)
  c.error_type.add(row.error_type)
  c.error_message.add(row.error_message)
  c.user_id.add(row.user_id)
  c.provisional.add(row.provisional)
  c.model.add(row.model)
  c.provider.add(row.provider)
}

/** What an event used and said. */
function contentColumns() {
  return {
    input_tokens: uint64(),
    output_tokens: uint64(),
    cache_read_tokens: uint64(),
    cache_write_tokens: uint64(),
    reasoning_tokens: uint64(),
    cost_nanos: uint64(),
    present: uint16(),
    input_preview: new TextColumn(),
    output_preview: new TextColumn(),
    input_bytes: uint32(),
    output_bytes: uint32(),
    metadata: new MapColumn(),
    checkpoints: new TextColumn(),
    received_at: new TimeColumn(3),
    retention: uint8(),
  }
}

function addContent(c: ReturnType<typeof contentColumns>, row: EventRow): void {
  c.input_tokens.add(row.input_tokens)
  c.output_tokens.add(row.output_tokens)
  c.cache_read_tokens.add(row.cache_read_tokens)
  c.cache_write_tokens.add(row.cache_write_tokens)
  c.reasoning_tokens.add(row.reasoning_tokens)
  c.cost_nanos.add(row.cost_nanos)
  c.present.add(row.present)
  c.input_preview.add(row.input_preview)
  c.output_preview.add(row.output_preview)
  c.input_bytes.add(row.input_bytes)
  c.output_bytes.add(row.output_bytes)
  c.metadata.add(row.metadata)
  c.checkpoints.add(row.checkpoints)
  c.received_at.add(row.received_at)
  c.retention.add(row.retention)
}

function eventSet() {
  return {
    ...identityColumns(),
    ...contentColumns(),
    ...originColumns(),
    move_id: new UuidColumn(),
    version: uint64(),
    sign: new IntegerColumn('Int8', 1),
  }
}

/** First writings of rows: no move made them, and a replay's rows outrank those that it replaces. */
function eventColumns(): TableColumns<'events'> {
  const columns = eventSet()
  const add = (row: EventRow, origin: Origin): void => {
    addIdentity(columns, row)
    addContent(columns, row)
    addOrigin(columns, origin)
    columns.move_id.add(NIL_UUID)
    columns.version.add(versionOf(row, origin))
    columns.sign.add(1)
  }
  return { columns, add }
}

/**
 * The version of a row: its generation (exact in a double up to 2^21) and, where the events of one identity may be written from
 * several positions, the position. A call's later report writes the same event ids at the same times as the one it replaces; with
 * one version for both, a merge would be free to fold the reversal of the old row with the new one. The lower bits of a span's say how
 * often it was moved: they tell a span that is at home by a link from one that names its session.
 */
export function versionOf({ source, moves = 0 }: EventRow, { origin_generation, origin_sequence }: Origin): number {
  return origin_generation * 2 ** 32 + (source === 'voice' ? origin_sequence % 2 ** 32 : moves)
}
