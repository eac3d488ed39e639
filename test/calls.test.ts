// Calls whose reports come first in part, then complete, while processors and the store are killed, and in every shape that platforms
// send: the dashboard shows the later report, once, as a person reads it, and nothing that only the earlier one said.
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { type Facts, facts } from '#processors/parsers/voice-reports/facts.ts'
import type { Cursor } from '#processors/protocol.ts'
import type { SpanRow } from '#proto/dashboard/conversations.ts'
import type { MessageRow } from '#proto/dashboard/shared.ts'
import type { UserStoriesResponse } from '#proto/dashboard/user-stories.ts'
import { conversationIdOf } from '#proto/ids.ts'
import { cursorKeyOf, streamOf } from '#proto/streams.ts'
import { post } from '#test/http.ts'
import { createTenant, eventually, startSystem } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { foldEvents } from './folding.ts'

type Json = { [key: string]: unknown }

interface Conversation {
  readonly user_id: string
  readonly original_conversation_id: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, string>>
  readonly messages: readonly MessageRow[]
}

const system = await startSystem(t, { clickhouse: 'private', limits: { partitions: 1 } })
const other = await createTenant(system.buckets)

/** Asks the dashboard; throws unless it answers 200. */
async function askAs<T>(apiKey: string, path: string, body: unknown): Promise<T> {
  const answer = await post<T>(`${system.queryUrl}/dashboard/api/${path}`, body, { 'x-api-key': apiKey })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`)
  return answer.body
}

/** Sends a voice platform's message. */
function sendAs(organization: string, message: unknown) {
  const url = `${system.baseUrl}/api/voice/v1/webhooks/voice-platform`
  return post<Json>(url, message, { 'x-org-id': organization })
}

const STARTED_MS = Date.now() - 600_000
const ROUNDS = scaled({ sample: 2, full: 3 })
const CALLS = scaled({ sample: 3, full: 8 })

/** A report of `exchanges` exchanges whose words say which report they are of. */
function reportOf(id: string, round: number, exchanges: number): object {
  const words = (who: string, i: number): string => `${who} ${i} of report ${round} ${'and so on '.repeat(40)}`
  return {
    message: {
      type: 'end-of-call-report',
      call: { id, customer: { number: '+15550001' } },
      startedAt: new Date(STARTED_MS).toISOString(),
      cost: round,
      analysis: { [`only_in_${round}`]: 'said' },
      artifact: {
        messages: Array.from({ length: exchanges }, (_, i) => [
          { role: 'user', message: words('question', i), time: STARTED_MS + i * 2000 },
          { role: 'bot', message: words('answer', i), time: STARTED_MS + i * 2000 + 1000 },
        ]).flat(),
      },
    },
  }
}

t.test('partial, then complete, with kills in between', async t => {
  const ask = <T>(path: string, body: unknown) => askAs<T>(system.apiKey, path, body)
  const calls = Array.from({ length: CALLS }, () => randomUUID())
  const jsm = await jetstreamManager(system.nc)
  const floorOf = async (): Promise<number> =>
    (await system.buckets.cursors.get(cursorKeyOf(0)))?.json<Cursor>().floor ?? 0
  const send = async (round: number, exchanges: number): Promise<void> => {
    for (const call of calls) {
      const { status } = await sendAs(system.organization, reportOf(call, round, exchanges))
      if (status !== 200) t.fail(`answered ${status}`)
    }
  }
  /** Resolves when every call shows report `round` and nothing else. */
  const shows = async (round: number, exchanges: number): Promise<void> => {
    // Behind the floor nothing is under way any more, neither rows nor reversals.
    const { state } = await jsm.streams.info(streamOf(0))
    await eventually('the floor', async () => (await floorOf()) >= state.last_seq, 60_000)
    await eventually(
      `report ${round} of every call`,
      async () => {
        for (const call of calls) {
          const { messages, metadata } = await ask<Conversation>('conversation-messages', { conversation_id: call })
          const all = messages.every(({ input }, i) => input?.startsWith(`question ${i} of report ${round} `))
          if (messages.length !== exchanges || !all) return false
          const own = Object.keys(metadata).filter(name => name.startsWith('analysis.'))
          if (own.join() !== `analysis.only_in_${round}`) return false
        }
        return true
      },
      60_000,
    )
    const { events } = await ask<{ events: { event_id: string }[] }>('raw-logs', { time_range: 'all', page_size: 100 })
    t.equal(events.length, CALLS * exchanges, 'raw logs list each event once')
    t.equal(new Set(events.map(event => event.event_id)).size, CALLS * exchanges)
    const text = await ask<{ input: string }>('event-io', { event_id: events[0]?.event_id })
    t.match(text.input, new RegExp(`of report ${round} (and so on ?){40}$`), 'the whole text is the later one')
    for (const [report, found] of [
      [round, CALLS * exchanges],
      [round - 1, 0],
    ] as const) {
      // Beyond what a preview holds.
      const searched = await ask<{ events: unknown[] }>('raw-logs', {
        time_range: 'all',
        page_size: 100,
        search_query: `of report ${report} ${'and so on '.repeat(39)}`,
      })
      t.equal(searched.events.length, found, `a search finds ${found} texts of report ${report}`)
      const filtered = await ask<{ events: unknown[] }>('raw-logs', {
        time_range: 'all',
        page_size: 100,
        metadata_filters: [{ key: `analysis.only_in_${report}`, value: 'said' }],
      })
      t.equal(filtered.events.length, found, `a filter finds ${found} events by what report ${report} says`)
    }
  }

  let processor = system.processors[0]
  await send(1, 2)
  await shows(1, 2)
  for (let round = 2; round < 2 + ROUNDS; round++) {
    const exchanges = (round % 3) + 1
    const sent = send(round, exchanges)
    // Somewhere between the first report's rows and the last one's reversal.
    await new Promise(resolve => setTimeout(resolve, 40 * round))
    if (round % 2 === 1) await system.clickhouse?.kill9()
    else processor?.kill('SIGKILL')
    await sent
    if (round % 2 === 1) await system.clickhouse?.restart()
    else processor = await system.startProcessor()
    await shows(round, exchanges)
  }
  // Sent again as it was: nothing changes.
  const last = 1 + ROUNDS
  await send(last, (last % 3) + 1)
  await shows(last, (last % 3) + 1)
  const counted = async (sql: string): Promise<number> => {
    const rows = await system.store.read<{ n: string }>(sql)
    return Number(rows[0]?.n)
  }
  const events = CALLS * ((last % 3) + 1)
  t.equal(await counted('SELECT sum(sign) AS n FROM events SETTINGS optimize_use_projections = 0'), events)
  t.equal(await counted('SELECT sum(sign) AS n FROM events'), events)
  await foldEvents(system.store)
  await shows(last, (last % 3) + 1)
  t.equal(await counted('SELECT count() AS n FROM events SETTINGS optimize_use_projections = 0'), events)
})

const folder = new URL('../processors/parsers/voice-reports/', import.meta.url)
/** The reports' calls were on this day; stored times are clamped to the year around today. */
const WRITTEN_MS = Date.parse('2026-09-21T14:00:00Z')
const shiftMs = Math.floor((Date.now() - WRITTEN_MS) / 1000) * 1000 - 3_600_000

/** A report as it would have been sent an hour ago. */
function today(text: string): string {
  return text
    .replace(
      /\b(1789\d{6})(\d{3})?\b/g,
      (_, seconds: string, rest = '') => `${Number(seconds) + shiftMs / 1000}${rest as string}`,
    )
    .replace(/(2026-09-\d\d)([T ])(\d\d:\d\d:\d\d)/g, (_, day: string, between: string, time: string) =>
      new Date(Date.parse(`${day}T${time}Z`) + shiftMs).toISOString().slice(0, 19).replace('T', between),
    )
}

/** The first words of a report, and nothing of what only its end knows. */
function partial(report: Json): Json {
  const message = report.message as Json
  const { type, call, customer, startedAt } = message
  const words = report.transcript ?? 'AI: The first word'
  return {
    message: { type, call, customer, startedAt, transcript: words, cost: 77, analysis: { only: 'provisional' } },
  }
}

const COUNTED_SQL = 'SELECT sum(sign) AS n FROM events WHERE organization = {organization:UUID}'

const isSynthetic = (message: MessageRow): boolean => message.attributes['parley.synthetic'] === 'true'

/** A conversation as facts tell it. */
function told(messages: readonly MessageRow[]): Pick<Facts, 'exchanges' | 'tools'> {
  const turns = messages.filter(message => message.primitive_type === '' && !isSynthetic(message))
  const tools = messages.filter(message => message.primitive_type === 'tool')
  return {
    exchanges: turns.map(({ input, output, latency }) =>
      latency === null ? [input ?? '', output ?? ''] : [input ?? '', output ?? '', Math.round(latency)],
    ),
    tools: tools.map(({ primitive_name, success, latency }) => {
      const outcome = success ? 'ok' : 'failed'
      return latency === null ? [primitive_name, outcome] : [primitive_name, outcome, Math.round(latency)]
    }),
  }
}

t.test('every call reads as its report, whatever came before it', async t => {
  const { organization, apiKey } = other
  const send = (body: unknown) => sendAs(organization, body)
  const ask = <T>(path: string, body: unknown) => askAs<T>(apiKey, path, body)
  const files = (await readdir(folder)).filter(file => file.endsWith('.json'))
  const calls = await Promise.all(
    files.map(async file => {
      const report = JSON.parse(today(await readFile(new URL(file, folder), 'utf8'))) as Json
      const said = facts[file.slice(0, -5)] as Facts
      return { report, said, id: conversationIdOf(organization, said.callId) }
    }),
  )
  const read = (id: string) => ask<Conversation>('conversation-messages', { conversation_id: id })

  const live = [
    { type: 'status-update', status: 'in-progress' },
    { type: 'speech-update', status: 'started', role: 'user' },
    { type: 'conversation-update', messages: [{ role: 'bot', message: 'Only live' }] },
    { type: 'status-update', status: 'ended' },
  ]
  for (const message of live) {
    const { status, body, headers } = await send({ message: { ...message, call: { id: 'running' } } })
    t.strictSame(
      [status, body, headers.get('x-parley-receipt')],
      [200, { status: 'ignored', type: message.type }, 'none'],
    )
  }
  const [receiver] = system.receivers
  const metrics = await (await fetch(`http://127.0.0.1:${receiver?.opsPort}/metrics`)).text()
  t.match(metrics, /^parley_ingest_ignored_total\{kind="status-update",.*\} 2$/m)
  t.match(metrics, /^parley_ingest_ignored_total\{kind="speech-update",.*\} 1$/m)

  for (const { report } of calls) t.equal((await send(partial(report))).status, 200)
  const list = () => ask<UserStoriesResponse>('user-stories', { time_range: 'all', page_size: 100 })
  /** The calls of which a first report is shown. */
  const provisional = async (): Promise<number> => {
    const { conversations = [] } = await list()
    return conversations.filter(({ metadata }) => 'analysis.only' in metadata).length
  }
  // Of some calls the first report is stored before the second comes, of the others it may still be on its way.
  await eventually('first reports are shown', async () => (await provisional()) > calls.length / 2)
  const announced = new Map<string, number>()
  for (const { report, said, id } of calls) {
    const { status, body } = await send(report)
    t.match([status, body], [200, { status: 'accepted', session_id: said.callId, user_id: said.number }])
    announced.set(id, body.event_count as number)
  }
  await eventually('the complete reports are shown', async () => {
    const { conversations = [] } = await list()
    return conversations.length === calls.length && (await provisional()) === 0
  })
  // A first report is no longer shown before the last of its rows is reversed.
  const events = [...announced.values()].reduce((sum, count) => sum + count, 0)
  await eventually('nothing of the first reports counts', async () => {
    const [row] = await system.store.read<{ n: string }>(COUNTED_SQL, { parameters: { organization } })
    return Number(row?.n) === events
  })
  // Once more, as platforms do: nothing changes.
  for (const { report } of calls) t.equal((await send(report)).status, 200)

  for (const { said, id } of calls) {
    const conversation = await read(id)
    t.strictSame(told(conversation.messages), { exchanges: said.exchanges, tools: said.tools }, said.callId)
    t.equal(conversation.user_id, said.number)
    t.equal(conversation.original_conversation_id ?? id, said.callId)
    t.equal(conversation.messages.length, announced.get(id), 'as many events as were announced')
    const costs = conversation.messages.flatMap(({ cost_metadata }) => cost_metadata?.cost ?? [])
    t.strictSame(costs.map(Number), said.cost === null ? [] : [said.cost])
    t.equal(conversation.attributes['parley.transcript_source'], said.source)
    const { spans, root_ids } = await ask<{ spans: SpanRow[]; root_ids: string[] }>('conversation-spans', {
      conversation_id: id,
    })
    t.equal(root_ids.length, said.exchanges.length)
    t.strictSame(
      spans.filter(span => span.depth === 2).map(({ kind, name, success }) => [kind, name, success ? 'ok' : 'failed']),
      said.tools.map(([name, outcome]) => ['tool', name, outcome]),
    )
  }

  const { conversations = [] } = await list()
  t.equal(conversations.length, calls.length, 'a call is one conversation, and nothing else is')
  for (const { said, id } of calls) {
    const row = conversations.find(conversation => conversation.conversation_id === id)
    t.equal(row?.has_audio, said.recording !== undefined)
    if (said.durationMs !== null) t.equal(row?.duration_ms, said.durationMs, 'as long as the call was')
    t.equal(row?.tool_call_count, said.tools.length)
    t.equal(row?.error_count, said.tools.filter(([, outcome]) => outcome === 'failed').length)
    t.equal(row?.agent_names.length, 1)
    t.strictSame(
      row?.cost_metadata.map(({ cost }) => Number(cost)),
      said.cost === null ? [] : [said.cost],
    )
  }
})
