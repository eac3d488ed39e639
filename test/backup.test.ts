// A backup that is made while events flow, and what is restored from it: every answer of the dashboard as it was, every event that the
// streams held there exactly once, and ingestion goes on.
import { randomUUID } from 'node:crypto'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { type BackupFile, MANIFEST_FILE } from '#proto/backup.ts'
import { streamOf } from '#proto/streams.ts'
import { createStore } from '#store/client.ts'
import { ends, runCommand } from '#test/command.ts'
import { connectNats, createTenant, eventually, startNats, startPart, startSystem, tempDir } from '#test/rig.ts'
import { checkFiles, createFolder, readManifest } from '../cli/backup/folder.ts'
import { routes } from '../query/routes.ts'
import { answersOf, missing, questionsOf, UNASKED } from './backup/answers.ts'
import { makeWorld } from './backup/world.ts'

/** Runs the parley command against these engines. */
const parley = (env: Record<string, string>, ...args: string[]) => runCommand(args, env)

const [system, to, dir] = await Promise.all([startSystem(t), startNats(t), tempDir(t)])
const folder = join(dir, 'backup')
const from = { NATS_URL: system.nats.url, CLICKHOUSE_URL: system.clickhouseUrl, PARLEY_DATABASE: system.database }
const into = { NATS_URL: to.url, CLICKHOUSE_URL: system.clickhouseUrl, PARLEY_DATABASE: `${system.database}_restored` }
const store = createStore({ url: system.clickhouseUrl, database: into.PARLEY_DATABASE, application: 'test' })
t.teardown(async () => {
  await store.command(`DROP DATABASE IF EXISTS ${into.PARLEY_DATABASE} SYNC`)
  await store.close()
})
const other = await createTenant(system.buckets, { name: 'flow' })
const world = await makeWorld(t, system, 4)

/** An acknowledged event, and where its payload lies. */
interface Sent {
  readonly event_id: string
  readonly partition: number
  readonly sequence: number
}

const session_id = randomUUID()

async function sendOne(base: string, event_id: string = randomUUID()): Promise<Sent> {
  const event = { event_id, session_id, primitive_name: 'flow', args: 'a', result: 'b' }
  const answer = await fetch(`${base}/api/v1/capture-event`, {
    method: 'POST',
    headers: { 'x-org-id': other.organization, 'content-type': 'application/json' },
    body: JSON.stringify(event),
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  const [partition = -1, sequence = -1] = (answer.headers.get('x-parley-receipt') ?? '').split('-').map(Number)
  return { event_id: event.event_id, partition, sequence }
}

const countOf = async (of: typeof store): Promise<number> => {
  const [row] = await of.read<{ n: string }>(
    'SELECT sum(sign) AS n FROM events WHERE organization = {organization:UUID}',
    { parameters: { organization: other.organization } },
  )
  return Number(row?.n)
}

const before = await answersOf(system, world)
const sent: Sent[] = []

t.test('every route that says what is known is asked', async t => {
  const asked = questionsOf(world, system.organization).map(([method, path]) => `${method} /dashboard/api/${path}`)
  const left = routes
    .map(({ method, path }) => `${method} ${path}`)
    .filter(route => !UNASKED.some(one => one.test(route)))
    .filter(route => {
      const pattern = new RegExp(`^${route.replaceAll(/\{[^}]+\}/g, '[^/]+')}([?].*)?$`)
      return !asked.some(question => pattern.test(question))
    })
  t.strictSame(left, [])
})

t.test('a backup is made while events flow', async t => {
  await fetch(`${system.baseUrl}/api/v1/capture-session`, {
    method: 'POST',
    headers: { 'x-org-id': other.organization, 'content-type': 'application/json' },
    body: JSON.stringify({ session_id, user_data: { user_id: 'flow' } }),
  })
  let flows = true
  const flow = async (): Promise<void> => {
    while (flows) {
      sent.push(await sendOne(system.baseUrl))
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
  const flowing = Promise.all([flow(), flow()])
  await eventually('the flow to be stored', async () => (await countOf(system.store)) > 0)
  const ended = await parley(from, 'backup', folder)
  flows = false
  await flowing
  ends(t, ended, { code: 0 })
  t.comment(ended.err + ended.out)
})

t.test('what is restored knows the same', async t => {
  ends(t, await parley(into, 'restore', folder), { code: 0 })
  const query = await startPart(t, 'query/main.ts', { ...into, PARLEY_QUERY_HOST: '127.0.0.1', PARLEY_QUERY_PORT: '0' })
  const queryUrl = `http://127.0.0.1:${String(query.about.port)}`
  const after = await answersOf({ ...system, queryUrl }, world)
  for (const [question, answer] of Object.entries(before)) {
    // Asking is noted, too: that log has grown.
    if (question.includes('organization/audit')) t.strictSame(missing(answer, after[question]), [], question)
    else t.strictSame(after[question], answer, question)
  }
  const again = await parley(into, 'restore', folder)
  ends(t, again, { code: 2, err: /goes into an empty instance only, and here is stream .* with \d+ messages/ })
  await t.rejects(createFolder(join(folder, MANIFEST_FILE, 'below')), /below cannot be made/)
  await t.rejects(createFolder(folder), /is not empty: a backup takes a folder of its own/)
})

t.test('what the streams held is stored once, and ingestion goes on', async t => {
  const nc = await connectNats(t, to.url)
  const jsm = await jetstreamManager(nc)
  const last = await Promise.all([0, 1].map(async p => (await jsm.streams.info(streamOf(p))).state.last_seq))
  const held = sent.filter(({ partition, sequence }) => sequence <= (last[partition] as number))
  t.comment(`${sent.length} sent, ${held.length} in the backup, ${await countOf(store)} of them stored in it`)
  t.ok(held.length > 0)
  await startPart(t, 'processors/main.ts', into)
  await eventually('all that the streams held', async () => (await countOf(store)) === held.length)
  const receiver = await startPart(t, 'ingest/main.ts', {
    ...into,
    ...{ PARLEY_HOST: '127.0.0.1', PARLEY_PORT: '0', PARLEY_OTLP_PORT: '0' },
    ...{ PARLEY_HOLD_MS: '60000', PARLEY_SESSION_WAIT_MS: '60000' },
  })
  const base = `http://127.0.0.1:${String(receiver.about.port)}`
  // Once stored, the repeat of another one behind it has been judged.
  const again = await sendOne(base, held[0]?.event_id)
  const fresh = await sendOne(base)
  const expected = [...held, fresh].map(({ event_id }) => event_id)
  await eventually('a new event', async () => (await countOf(store)) === expected.length)
  const rows = await store.read<{ id: string; n: string }>(
    'SELECT event_id AS id, sum(sign) AS n FROM events WHERE organization = {organization:UUID} GROUP BY id',
    { parameters: { organization: other.organization } },
  )
  t.strictSame(rows.map(({ id }) => id).sort(), expected.sort())
  t.ok(rows.every(({ n }) => n === '1'))
  t.ok(again.sequence > (last[again.partition] as number), 'behind what was there')
})

t.test('a backup that is not whole is refused, and what it is lacking is named', async t => {
  t.equal((await stat(folder)).mode & 0o777, 0o700)
  const manifest = await readManifest(folder)
  for (const { path } of manifest.files) t.equal((await stat(join(folder, path))).mode & 0o777, 0o600)
  await checkFiles(folder, manifest)
  const file = manifest.files.find(({ path }) => path.startsWith('tables/events/')) as BackupFile
  const whole = await readFile(join(folder, file.path))
  const refused = async (bytes: Uint8Array, why: RegExp): Promise<void> => {
    await writeFile(join(folder, file.path), bytes)
    await t.rejects(checkFiles(folder, manifest), why)
  }
  await refused(whole.subarray(1), /damaged: tables\/events\/.* has \d+ bytes instead of \d+/)
  await refused(
    whole.map((byte, i) => (i === 40 ? byte ^ 1 : byte)),
    /has another checksum/,
  )
  await rm(join(folder, file.path))
  await t.rejects(checkFiles(folder, manifest), /is missing/)
  const text = await readFile(join(folder, MANIFEST_FILE), 'utf8')
  await writeFile(join(folder, MANIFEST_FILE), text.slice(0, 200))
  await t.rejects(readManifest(folder), /it is damaged/)
  await writeFile(join(folder, MANIFEST_FILE), text.replace('"format": 1', '"format": 99'))
  await t.rejects(readManifest(folder), /newer than this one/)
  await rm(join(folder, MANIFEST_FILE))
  await t.rejects(readManifest(folder), /the backup was not finished/)
})
