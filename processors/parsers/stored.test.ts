// Rows of odd bodies, in the real store: all of them are taken, and what is read back is what was meant.
import t from 'tap'
import { randomOf } from '#runtime/seeded.ts'
import { freshDatabase } from '#test/rig.ts'
import { createEncoder } from '../encoder.ts'
import { insertBody } from '../insert.ts'
import type { Unit } from '../outcome.ts'
import { context, json } from './fixture.ts'
import { bent, eventBody, sessionBody, traces, voiceBody } from './fixture-odd.ts'
import { parseTraces } from './otlp.ts'
import { parseEvent, parseSession } from './sdk.ts'
import { parseVoice } from './voice.ts'

const BODIES = 400

/** Units of bodies that are odd but not dead. */
function oddUnits(): Unit[] {
  const random = randomOf(11)
  const parsers = [
    [parseEvent, eventBody],
    [parseSession, sessionBody],
    [parseVoice, voiceBody],
    [parseTraces, traces],
  ] as const
  return Array.from({ length: BODIES }, (_, i) => {
    const [parse, body] = parsers[i % parsers.length] as (typeof parsers)[number]
    const outcome = parse(json(bent(body, random, 25)), 'json', context)
    return 'dead' in outcome ? [] : outcome.units
  }).flat()
}

t.test('the store takes every row of odd bodies and gives it back unchanged', async t => {
  const { store } = await freshDatabase(t)
  const encoder = createEncoder()
  const units = oddUnits()
  const events = units.flatMap(unit => unit.events)
  t.ok(events.length > BODIES / 4, `${events.length} events`)
  let position = 0
  const origin = () => ({
    origin_partition: 0,
    origin_generation: 1,
    origin_sequence: 1,
    origin_frame: 0,
    origin_index: position++,
  })
  for (const unit of units) {
    for (const row of unit.sessions) encoder.add('sessions', row, origin())
    for (const row of unit.texts) encoder.add('texts', row, origin())
    for (const row of unit.events) encoder.add('events', row, origin())
  }
  const signal = AbortSignal.timeout(60_000)
  for (const { table, month, retention, body } of encoder.finish()) {
    const token = `odd.${table}.${month}.${retention}`
    t.match(await insertBody(store, { table, token, body, signal }), { is: 'inserted' }, token)
  }
  const stored = await store.read<Record<string, unknown>>(`
    SELECT event_id, toString(ts) AS ts, duration_ns, kind, name, user_id, session_id, span_id, input_preview,
      output_preview, error_message, cost_nanos, present, metadata, checkpoints
    FROM events ORDER BY origin_index`)
  t.same(
    stored,
    events.map(row => ({
      event_id: row.event_id,
      ts: row.ts,
      duration_ns: String(row.duration_ns),
      kind: row.kind,
      name: row.name,
      user_id: row.user_id,
      session_id: row.session_id,
      span_id: row.span_id,
      input_preview: row.input_preview,
      output_preview: row.output_preview,
      error_message: row.error_message,
      cost_nanos: String(row.cost_nanos),
      present: row.present,
      metadata: { ...row.metadata },
      checkpoints: row.checkpoints,
    })),
  )
  const texts = units.flatMap(unit => unit.texts)
  const read = await store.read<Record<string, unknown>>(
    'SELECT event_id, input, output FROM texts ORDER BY origin_index',
  )
  t.same(
    read,
    texts.map(({ event_id, input, output }) => ({ event_id, input, output })),
  )
})
