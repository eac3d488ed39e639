// An end-of-call report -> one conversation: an event for each exchange of caller and assistant, below it a synthetic agent
// event for each group of tool calls, below that the calls. The whole call is one unit: it is stored, or replaced, as one.
import { conversationIdOf, uuidV5 } from '#proto/ids.ts'
import { readExactJson } from '#proto/json.ts'
import type { EventRow, TextRow } from '#proto/rows.ts'
import type { Instant } from '#proto/time.ts'
import type { Exchange, ToolCall, ToolGroup, VoiceReport } from '#proto/voice/report.ts'
import { readVoiceReport } from '#proto/voice/report.ts'
import type { FrameContext, FrameParser } from '../outcome.ts'
import { nanoDollarsOf, nanosOfMs } from './amounts.ts'
import { NO_BILLING } from './cost.ts'
import { MetadataBuilder } from './metadata.ts'
import { type EventDraft, eventRows, instantOfMs, NO_TEXTS, NO_USAGE, sessionRow, textRow } from './rows.ts'
import { callerTraits, callMetadata, exchangeMetadata, exchangeWords } from './voice-metadata.ts'
import { reportFingerprint } from './voice-report.ts'

/** Parses a report; see FrameParser. */
export const parseVoice: FrameParser = (body, content, context) => {
  if (content !== 'json') return { dead: 'DEAD_PARSE', reason: `a ${content} body where JSON belongs` }
  const read = readExactJson(body)
  if ('reason' in read) return { dead: 'DEAD_PARSE', reason: read.reason }
  const verdict = readVoiceReport(read.value)
  if (!verdict.ok) return { dead: 'DEAD_PARSE', reason: `${verdict.code} ${verdict.field ?? ''}`.trim() }
  const call = new Call(context, verdict.report)
  for (const exchange of verdict.report.exchanges) call.addExchange(exchange)
  return {
    units: [
      {
        identity: { kind: 'call', id: call.conversationId },
        sessions: [call.session()],
        texts: call.texts,
        events: call.events,
      },
    ],
  }
}

class Call {
  readonly conversationId: string
  readonly events: EventRow[] = []
  readonly texts: TextRow[] = []
  readonly #context: FrameContext
  readonly #report: VoiceReport
  readonly #startedAtMs: number
  readonly #zeroMs: number
  /** The time of the event before: without times of their own, events follow it by one millisecond, so that order is kept. */
  #lastMs: number
  /** Events in a row of the same time: each is stored a nanosecond after the one before, for the same reason. */
  #ties = 0

  constructor(context: FrameContext, report: VoiceReport) {
    this.#context = context
    this.#report = report
    this.conversationId = conversationIdOf(context.organization, report.callId)
    this.#startedAtMs = report.startedAtMs ?? report.endedAtMs ?? context.receivedAtMs
    // Times of a call without a start count from 0.
    this.#zeroMs = report.startedAtMs === null ? this.#startedAtMs : 0
    this.#lastMs = this.#startedAtMs - 1
  }

  session() {
    const { callId, number, recordingUrl, message } = this.#report
    return sessionRow(this.#context, {
      source: 'voice',
      conversationId: this.conversationId,
      sessionId: callId,
      userId: number,
      userEmail: callerTraits(message).email,
      userData: callerTraits(message).traits,
      metadata: callMetadata(this.#report),
      startedAt: instantOfMs(this.#startedAtMs),
      recordingUrl,
      report: reportFingerprint(this.#report),
    })
  }

  addExchange(exchange: Exchange): void {
    const metadata = exchangeMetadata(exchange, this.#report)
    const { startedAtMs } = exchange
    const isFirst = this.events.length === 0
    const parentId = this.#add(startedAtMs, metadata, {
      kind: 'agent',
      name: this.#report.assistantName,
      content: exchangeWords(exchange),
      durationNs: nanosOfMs(exchange.latencyMs),
      failed: false,
      input: exchange.caller === '' ? null : exchange.caller,
      output: exchange.assistant === '' ? null : exchange.assistant,
      // The cost of the call sits on its first event alone, so that sums over events are right.
      usage: { ...NO_USAGE, costNanos: isFirst ? nanoDollarsOf(this.#report.cost) : null },
      billing: { ...NO_BILLING, malformed: isFirst && this.#report.isCostInvalid ? ['cost'] : [] },
    })
    for (const group of exchange.toolGroups) this.#addGroup(group, parentId)
  }

  #addGroup(group: ToolGroup, exchangeId: string): void {
    const metadata = new MetadataBuilder()
    metadata.note('synthetic', 'true')
    const groupId = this.#add(group.startedAtMs, metadata, {
      kind: 'agent',
      // Named as its agent: lists of agents, and filters by one, know no other. A failure is counted where it happened, below.
      name: this.#report.assistantName,
      parentId: exchangeId,
      durationNs: nanosOfMs(longest(group.calls)),
      failed: false,
      input: null,
      output: null,
    })
    for (const call of group.calls) {
      const own = new MetadataBuilder()
      if (call.id !== '') own.put('tool_call_id', call.id)
      this.#add(call.startedAtMs, own, {
        kind: 'tool',
        name: call.name,
        parentId: groupId,
        durationNs: nanosOfMs(call.durationMs),
        failed: !call.success,
        errorMessage: call.error,
        input: call.arguments,
        output: call.result,
      })
    }
  }

  #add(
    startedAtMs: number | null,
    metadata: MetadataBuilder,
    draft: Omit<EventDraft, 'source' | 'conversationId' | 'sessionId' | 'eventId' | 'at' | 'userId' | 'metadata'>,
  ): string {
    const { callId, number } = this.#report
    const eventId = uuidV5(this.#context.organization, `${callId}/${this.events.length}`)
    if (startedAtMs === null) metadata.note('time', 'derived')
    const atMs = startedAtMs === null ? this.#lastMs + 1 : this.#zeroMs + startedAtMs
    this.#ties = atMs === this.#lastMs ? this.#ties + 1 : 0
    this.#lastMs = atMs
    const rows = eventRows(
      this.#context,
      {
        source: 'voice',
        conversationId: this.conversationId,
        sessionId: callId,
        eventId,
        at: after(instantOfMs(atMs), this.#ties),
        userId: number,
        metadata,
        ...draft,
      },
      this.conversationId,
    )
    this.events.push(rows.event)
    // Ids of events are places in the call: an earlier report may have had a text at this one, which the empty one outranks.
    this.texts.push(...(rows.texts.length > 0 ? rows.texts : [textRow(rows.event, this.conversationId, NO_TEXTS)]))
    return eventId
  }
}

function after({ ms, ns }: Instant, ties: number): Instant {
  return { ms, ns: Math.min(999_999, ns + ties) }
}

function longest(calls: readonly ToolCall[]): number | null {
  return calls.reduce<number | null>((most, { durationMs }) => {
    return durationMs === null ? most : Math.max(most ?? 0, durationMs)
  }, null)
}
