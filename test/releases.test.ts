// Data of earlier releases, read by this build: the backup of each is restored, migrated, and answers what it has answered then.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { createSigningKey, signToken } from '#control/admin.ts'
import { startNats } from '#local/nats.ts'
import { createStore } from '#store/client.ts'
import { migrationNames } from '#store/migrate.ts'
import { openBuckets } from '#streams/apply.ts'
import { sharedClickHouse } from '#test/engines.ts'
import { connectNats, nodeEnv, startPart, tempDir } from '#test/rig.ts'
import { answersOf, missing } from './backup/answers.ts'
import { readReleases } from './releases/read.ts'

const PARLEY = fileURLToPath(new URL('../cli/main.ts', import.meta.url))
const run = promisify(execFile)
const DAY_S = 86_400
/** What answers otherwise on purpose, by where it stands: a release shows what was wrong then. */
const OTHERWISE: readonly { readonly version: string; readonly place: RegExp; readonly why: string }[] = [
  {
    version: '0.1.0',
    place: /\.preview\.last_output: /,
    why: 'the last word was that of a tool that ran within the last turn',
  },
  {
    version: '0.1.0',
    place: /\.conversations\[\d+\]\.events\[\d+\]\.event_id: /,
    why: 'events of one instant stood in the order of their ids',
  },
  { version: '0.1.0', place: /\.fields\[\d+\]\.looked: /, why: 'fields are looked for in fewer places' },
  {
    version: '0.1.0',
    place: /\.metadata\.(?:parley|resource|otel)\.[\w.]+: undefined instead of /,
    why: 'keys of parley’s own stood among those of senders',
  },
  { version: '0.1.0', place: /^\.keys: 21 instead of 29/, why: 'keys of parley’s own stood in lists of keys' },
  {
    version: '0.1.0',
    place: /\.connection_type: "(?:sdk|mcp|voice|otlp)" instead of ""/,
    why: 'a conversation had no connection type where no sender named one',
  },
  { version: '0.1.0', place: /^: "event_id,session_id,timestamp,user_id,/, why: 'files had fewer columns' },
  { version: '0.1.0', place: /\.duration_ms: /, why: 'a conversation ended when its last event began' },
  { version: '0.1.0', place: /\.(?:p50|p95|p99|max)_latency: /, why: 'the longest time was that of a bucket' },
  { version: '0.1.0', place: /^\.url: null instead of "https:/, why: 'the address of a recording was the platform’s' },
]
const [releases, { url }] = await Promise.all([readReleases(), sharedClickHouse()])

t.ok(releases.length > 0)

for (const { version, backup, world, answers, organization, owner } of releases) {
  t.test(`what ${version} has written`, async t => {
    const dataDir = await tempDir(t)
    const database = `test_release_${process.pid}`
    const store = createStore({ url, database: 'default', application: 'test' })
    t.teardown(async () => {
      await store.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
      await store.close()
    })
    const env = { CLICKHOUSE_URL: url, PARLEY_DATABASE: database }
    // Without NATS_URL: into the data directory of a launcher that is to come.
    const { stdout } = await run(process.execPath, [PARLEY, 'restore', backup], {
      env: { PATH: process.env.PATH, ...nodeEnv, ...env, PARLEY_DATA_DIR: dataDir },
    })
    t.match(stdout, /restored into .*: npm start goes on there/)
    const applied = await store.read<{ name: string }>(`SELECT DISTINCT name FROM ${database}.migrations ORDER BY name`)
    t.strictSame(
      applied.map(({ name }) => name),
      await migrationNames(),
    )

    const secrets = JSON.parse(await readFile(join(dataDir, 'secrets.json'), 'utf8')) as { natsPassword: string }
    const password = secrets.natsPassword
    const nats = await startNats({ dir: join(dataDir, 'nats'), password, searchPath: process.env.PATH ?? '' })
    t.teardown(() => nats.stop())
    const { control } = await openBuckets(await connectNats(t, nats.url))
    const bearer = await signToken(await createSigningKey(control), { user: owner, organization }, DAY_S)
    const query = await startPart(t, 'query/main.ts', {
      ...{ ...env, NATS_URL: nats.url, PARLEY_QUERY_HOST: '127.0.0.1', PARLEY_QUERY_PORT: '0' },
    })
    const queryUrl = `http://127.0.0.1:${String(query.about.port)}`
    const now = await answersOf({ queryUrl, organization, bearer, apiKey: '' }, world)
    const meant = OTHERWISE.filter(each => each.version === version)
    const seen = new Set<string>()
    for (const [question, answer] of Object.entries(answers)) {
      const differences = missing(answer, now[question]).filter(difference => {
        const known = meant.find(({ place }) => place.test(difference))
        if (known) seen.add(known.why)
        return known === undefined
      })
      t.strictSame(differences, [], question)
    }
    t.strictSame([...seen].sort(), meant.map(({ why }) => why).sort(), 'what answers otherwise on purpose does')
  })
}
