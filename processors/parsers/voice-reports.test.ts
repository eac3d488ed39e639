// Reports of many shapes, as platforms send them: the conversations they become, compared with what a person read in them and, row by
// row, with what was reviewed. `node processors/parsers/voice-reports.test.ts write` writes the rows anew: review the difference.
// A number as the argument is how many mutated reports are tried (1000000 for the long run).
import { readdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { readJson } from '#proto/json.ts'
import { readVoiceReport } from '#proto/voice/report.ts'
import { randomOf } from '#runtime/seeded.ts'
import type { Unit } from '../outcome.ts'
import { context, json, telling, unitsOf } from './fixture.ts'
import { faultOf } from './fixture-faults.ts'
import { bent, mutated } from './fixture-odd.ts'
import { parseVoice } from './voice.ts'
import { type Facts, facts } from './voice-reports/facts.ts'

const [argument] = process.argv.slice(2)
const CASES = Number(argument) || 3000

// The file's own limit, too.
t.setTimeout(1_200_000 + 10 * CASES)

const folder = new URL('voice-reports/', import.meta.url)
const rowsFile = (name: string): URL => new URL(`rows/${name}.json`, folder)
const names = (await readdir(folder)).flatMap(file => (file.endsWith('.json') ? [file.slice(0, -5)] : []))
const bodies = new Map(
  await Promise.all(names.map(async name => [name, await readFile(new URL(`${name}.json`, folder))] as const)),
)
const body = (name: string): Uint8Array => bodies.get(name) as Uint8Array

/** The one unit that a report becomes. */
function callOf(bytes: Uint8Array): Unit {
  const [unit, ...others] = unitsOf(parseVoice(bytes, 'json', context))
  if (unit === undefined || others.length > 0) throw new Error('a report is one unit')
  return unit
}

const isSynthetic = (event: Unit['events'][number]): boolean => event.metadata['parley.synthetic'] === 'true'
const exchangesOf = (unit: Unit) => unit.events.filter(event => event.kind === 'agent' && !isSynthetic(event))
const nanos = (dollars: number): number => Math.round(dollars * 1e9)
const costOf = (unit: Unit): number => unit.events.reduce((sum, event) => sum + event.cost_nanos, 0)

const saidIn = ({ input, output, content }: Unit['texts'][number]) => ({
  ...{ input, output },
  ...(Object.keys(content).length === 0 ? {} : { content: { ...content } }),
})

if (argument === 'write') {
  for (const name of names) {
    const { sessions, events, texts } = callOf(body(name))
    const rows = {
      sessions: sessions.map(telling),
      events: events.map(telling),
      texts: texts.map(saidIn),
    }
    await writeFile(rowsFile(name), `${JSON.stringify(rows, null, 2)}\n`)
  }
}

t.test('every report has facts that a person wrote', async t => {
  t.strictSame(names.toSorted(), Object.keys(facts).toSorted())
  t.ok(names.length >= 12)
})

for (const [name, said] of Object.entries(facts)) {
  t.test(`${name}: the conversation says what the report says`, async t => {
    const unit = callOf(body(name))
    const [session] = unit.sessions
    t.equal(session?.session_id || session?.conversation_id, said.callId)
    t.equal(session?.user_id, said.number)
    t.equal(session?.started_at, said.startedAt)
    t.equal(session?.recording_url, said.recording ?? '')
    t.equal(session?.metadata['parley.transcript_source'], said.source)
    t.equal(session?.metadata['parley.duration_ms'], said.durationMs === null ? undefined : String(said.durationMs))
    t.has(session?.metadata, said.metadata ?? {})
    t.strictSame(exchangesTold(unit), said.exchanges)
    t.strictSame(toolsTold(unit), said.tools)
    const failures = said.tools.filter(([, outcome]) => outcome === 'failed').length
    t.equal(unit.events.filter(event => event.failed === 1).length, failures, 'a failure counts once')
    t.equal(costOf(unit), nanos(said.cost ?? 0))
    t.equal(unit.events.filter(event => (event.present & 16) !== 0).length, said.cost === null ? 0 : 1)
    t.ok(unit.events.every(event => event.user_id === said.number))
  })

  t.test(`${name}: the rows are those that were reviewed`, async t => {
    const { sessions, events, texts } = callOf(body(name))
    const rows = JSON.parse(await readFile(rowsFile(name), 'utf8')) as Record<string, unknown>
    t.strictSame(JSON.parse(JSON.stringify(sessions.map(telling))), rows.sessions)
    t.strictSame(JSON.parse(JSON.stringify(events.map(telling))), rows.events)
    t.strictSame(texts.map(saidIn), rows.texts)
    t.equal(faultOf({ identity: null, sessions, events, texts } as never), '')
  })
}

function exchangesTold(unit: Unit): Facts['exchanges'] {
  const texts = new Map(unit.texts.map(text => [text.event_id, text]))
  return exchangesOf(unit).map(event => {
    const { input, output } = texts.get(event.event_id) ?? { input: '?', output: '?' }
    return event.duration_ns < 0 ? [input, output] : [input, output, Math.round(event.duration_ns / 1e6)]
  })
}

function toolsTold(unit: Unit): Facts['tools'] {
  const tools = unit.events.filter(event => event.kind === 'tool')
  return tools.map(({ name, failed, duration_ns }) => {
    const outcome = failed === 1 ? 'failed' : 'ok'
    return duration_ns < 0 ? [name, outcome] : [name, outcome, Math.round(duration_ns / 1e6)]
  })
}

t.test('tool calls stand below a synthetic event, and that below its exchange', async t => {
  for (const name of names) {
    const unit = callOf(body(name))
    const byId = new Map(unit.events.map(event => [event.event_id, event]))
    t.equal(byId.size, unit.events.length, 'ids are unique')
    for (const event of unit.events) {
      const parent = byId.get(event.parent_id)
      if (event.kind === 'tool') t.ok(parent !== undefined && isSynthetic(parent), `${name}: ${event.name}`)
      else if (isSynthetic(event)) t.ok(exchangesOf(unit).includes(parent as never), `${name}: ${event.name}`)
      else t.equal(parent, undefined)
    }
  }
})

t.test('the sum of all costs is the sum of the reports', async t => {
  const stated = Object.values(facts).reduce((sum, { cost }) => sum + nanos(cost ?? 0), 0)
  t.equal(
    names.reduce((sum, name) => sum + costOf(callOf(body(name))), 0),
    stated,
  )
})

t.test('secrets of the platform are not stored', async t => {
  const stored = names.map(name => JSON.stringify(callOf(body(name)))).join()
  t.notMatch(stored, /s3cr3t|deadbeef|live\.example/)
})

t.test('a link that is signed anew makes another report, which takes the place of the one before', async t => {
  const text = Buffer.from(body('modern')).toString()
  const report = (changed: string): string | undefined => callOf(Buffer.from(changed)).sessions[0]?.report
  t.not(report(text.replaceAll(/X-Signature=\w+/g, 'X-Signature=new&X-Date=1')), report(text))
  t.equal(report(text.replace('"updatedAt":"2026', '"updatedAt":"2027')), report(text))
  t.not(report(text.replaceAll('7f3e-mono', '7f3e-other')), report(text))
})

/** What is wrong with what became of a body, '' when nothing is; null when it is no report. */
function wrongWith(bytes: Uint8Array): string | null {
  const outcome = parseVoice(bytes, 'json', context)
  const read = readJson(bytes)
  if ('reason' in read) return 'dead' in outcome ? null : 'judged in two ways'
  // As the receiver does.
  const verdict = readVoiceReport(read.value)
  if (verdict.ok === 'dead' in outcome) return 'judged in two ways'
  if (!verdict.ok || 'dead' in outcome) return null
  const unit = outcome.units[0] as Unit
  const { report } = verdict
  const fault = faultOf(unit)
  if (fault !== '') return fault
  if (unit.events.length !== report.eventCount || report.eventCount === 0) return 'counted in two ways'
  if (new Set(unit.events.map(event => event.event_id)).size !== unit.events.length) return 'an id twice'
  if (unit.texts.length !== unit.events.length) return 'an event without texts'
  if (costOf(unit) !== Math.min(Number.MAX_SAFE_INTEGER, nanos(report.cost ?? 0))) return 'cost'
  return unheard(report.message, report.transcriptSource, unit)
}

/** The first speech of the chosen messages that no exchange holds. */
function unheard(message: Readonly<Record<string, unknown>>, source: string, unit: Unit): string {
  const { artifact } = message as { artifact?: { messages?: unknown } }
  if (source !== 'artifact.messages' || !Array.isArray(artifact?.messages)) return ''
  const heard = unit.texts.map(({ input, output }) => `${input}\n${output}`).join('\n')
  for (const entry of artifact.messages as { role?: unknown; message?: unknown }[]) {
    if (entry?.role !== 'user' && entry?.role !== 'bot') continue
    if (typeof entry.message === 'string' && !heard.includes(entry.message.trim().toWellFormed())) return 'a lost turn'
  }
  return ''
}

t.test(
  'mutated reports: no crash, no lost turn, no cost counted twice',
  { timeout: 1_200_000 + 10 * CASES },
  async t => {
    const random = randomOf(7)
    const values = [...bodies.values()].map(bytes => JSON.parse(Buffer.from(bytes).toString()) as unknown)
    let taken = 0
    for (let i = 0; i < CASES; i++) {
      const bytes =
        i % 2 === 0
          ? mutated([...bodies.values()], random)
          : json(bent(values[random(values.length)], random, 10 + random(60)))
      const show = (): object => ({ body: Buffer.from(bytes).toString('latin1').slice(0, 4000) })
      try {
        const wrong = wrongWith(bytes)
        if (wrong !== null) taken++
        if (wrong) t.fail(`case ${i}: ${wrong}`, show())
      } catch (error) {
        t.fail(`case ${i}: ${String(error)}`, show())
      }
    }
    t.ok(taken > CASES / 10, `${taken} of ${CASES} were taken`)
  },
)
