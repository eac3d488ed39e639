// POST /dashboard/api/conversation-spans: the events of a conversation as a tree, whichever wire they came over; as rows, or as one
// array a field.
import type { Static } from 'typebox'
import type { SpanColumns, SpanRow, SpanRows } from '#proto/dashboard/conversations.ts'
import {
  ConversationSpansRequest,
  ConversationSpansResponse,
  SPANS_COLUMNS_MAX,
  SPANS_MAX,
} from '#proto/dashboard/conversations.ts'
import { ParleyError } from '#proto/errors.ts'
import { NIL_UUID } from '#proto/ids.ts'
import { cutValues, isoTime, previewOf, succeeded, usageOf } from '../../answers.ts'
import { requireConversation } from '../../asked-conversation.ts'
import { endpoint } from '../../endpoint.ts'
import type { Reader } from '../../reader.ts'
import type { OldestEvents, SpanRecord } from '../../reads/conversation-events.ts'
import { oldestSpans } from '../../reads/conversation-events.ts'
import type { EventRecord } from '../../reads/events.ts'
import { lendersAmong } from '../../reads/lenders.ts'
import type { Lenders } from '../../reads/texts.ts'
import type { Placed, TreeNode } from '../../span-tree.ts'
import { around, placeSpans } from '../../span-tree.ts'
import type { FoundConversation } from './find.ts'
import { findConversation, findEvents } from './find.ts'

export const conversationSpans = endpoint({
  method: 'POST',
  path: '/dashboard/api/conversation-spans',
  auth: 'any',
  polled: true,
  about: 'The spans of a conversation, parents before children; events sent over REST are spans too.',
  request: ConversationSpansRequest,
  response: ConversationSpansResponse,
  work: async (call, request): Promise<Static<typeof ConversationSpansResponse>> => {
    const event = request.event_id?.toLowerCase()
    if (request.format === 'columns') {
      const id = requireConversation(call.organization.id, request)
      return readColumns(call.reader, await findConversation(call.reader, id), event)
    }
    const { conversation, oldest } = await findEvents(call, request, SPANS_MAX)
    return spansOf(conversation, await oldest, event)
  },
})

/** The spans as rows, of the oldest SPANS_MAX events; `event` narrows them to its line. */
export function spansOf({ id }: FoundConversation, { records, whole }: OldestEvents, event?: string): SpanRows {
  const placed = place(records, event)
  // Of some of its events the last one that speaks is not known.
  const lenders = whole ? lendersAmong(records, records) : new Map<string, Lenders>()
  return {
    conversation_id: id,
    root_ids: placed.filter(({ parent }) => parent === null).map(({ node }) => spanIdOf(node)),
    spans: placed.map(span => spanRow(span, lenders.get(span.node.event_id))),
    truncated: !whole,
  }
}

/** The same as one array a field, without attributes and messages: for pages that draw very many spans. */
async function readColumns(reader: Reader, { id, bounds }: FoundConversation, event?: string): Promise<SpanColumns> {
  const found = bounds === null ? [] : await oldestSpans(reader, bounds, SPANS_COLUMNS_MAX + 1)
  const placed = place(found.slice(0, SPANS_COLUMNS_MAX), event)
  const rows = placed.map(({ node, parent, depth }) => ({ ...spanHead(node), parent, depth }))
  return {
    conversation_id: id,
    root_ids: rows.filter(({ parent }) => parent === null).map(({ span_id }) => span_id),
    columns: {
      span_id: rows.map(row => row.span_id),
      parent_span_id: rows.map(({ parent }) => parent && spanIdOf(parent)),
      event_id: rows.map(row => row.event_id),
      name: rows.map(row => row.name),
      kind: rows.map(row => row.kind),
      start_time: rows.map(row => row.start_time),
      duration_ms: rows.map(row => row.duration_ms),
      success: rows.map(row => row.success),
      depth: rows.map(row => row.depth),
    },
    truncated: found.length > SPANS_COLUMNS_MAX,
  }
}

/** @throws ParleyError QRY_NOT_FOUND when `event` is not among the spans. */
function place<T extends TreeNode>(spans: readonly T[], event: string | undefined): Placed<T>[] {
  const all = placeSpans(spans)
  if (event === undefined) return all
  const line = around(all, event)
  if (line.length > 0) return line
  throw new ParleyError('QRY_NOT_FOUND', 'no such event in the conversation', { field: 'event_id' })
}

/** 16 hex digits of a span of a trace; the event id of what came over REST. */
function spanIdOf(event: SpanRecord): string {
  return event.span_id === '0' ? event.event_id : BigInt(event.span_id).toString(16).padStart(16, '0')
}

function spanHead(node: SpanRecord) {
  return {
    span_id: spanIdOf(node),
    event_id: node.event_id,
    name: node.name,
    kind: node.kind,
    start_time: isoTime(node.ts),
    duration_ms: Math.max(Number(node.duration_ns), 0) / 1_000_000,
    success: succeeded(node),
  }
}

function spanRow({ node, parent, depth }: Placed<EventRecord>, lenders: Lenders | undefined): SpanRow {
  return {
    ...spanHead(node),
    parent_span_id: parent && spanIdOf(parent),
    trace_id: node.trace_id === NIL_UUID ? null : node.trace_id.replaceAll('-', ''),
    end_time: isoTime(later(node.ts, Math.max(Number(node.duration_ns), 0))),
    error_message: node.error_message || null,
    ...usageOf(node),
    depth,
    preview: previewOf(node, lenders),
    attributes: cutValues(node.metadata),
    checkpoints: node.checkpoints === '' ? [] : (JSON.parse(node.checkpoints) as SpanRow['checkpoints']),
  }
}

/** An instant `ns` later, to the nanosecond. */
function later(iso: string, ns: number): string {
  const at = BigInt(Date.parse(`${iso.slice(0, 19)}Z`)) * 1_000_000n + BigInt(iso.slice(20, 29)) + BigInt(ns)
  const seconds = new Date(Number(at / 1_000_000_000n) * 1000).toISOString().slice(0, 19)
  return `${seconds}.${String(at % 1_000_000_000n).padStart(9, '0')}Z`
}
