// `npm run release:fixture`: a small world of this build -> test/releases/VERSION: the backup that `parley backup` makes of it, and the
// answers of every endpoint at that moment. Run once for a release; what is there for the version is replaced.
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readVersion } from '#runtime/version.ts'
import { startSystem, type Teardown } from '#test/rig.ts'
import { answersOf } from '../backup/answers.ts'
import { makeWorld } from '../backup/world.ts'
import type { ReleaseWorld } from './read.ts'

const PARLEY = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const run = promisify(execFile)

/** The price list is of the build and not of its data, and which keys were seen lately depends on the day. */
const OF_BUILD_OR_TIME: readonly (readonly [question: string, fields: readonly string[]])[] = [
  ['GET prices', ['entries']],
  ['GET organization/event-keys', ['available', 'available_keys']],
  ['GET organization/conversation-keys', ['available', 'available_keys']],
]

function leaveOut(answer: unknown, field: string): void {
  if (!(field in (answer as object))) throw new Error(`there is no ${field} to leave out`)
  delete (answer as Record<string, unknown>)[field]
}

const folder = fileURLToPath(new URL(`./${await readVersion()}/`, import.meta.url))
const handlers: (() => unknown)[] = []
const t: Teardown = { teardown: handler => handlers.push(handler) }

try {
  const system = await startSystem(t)
  const world = await makeWorld(t, system, 3)
  const answers = await answersOf(system, world)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  const env = { NATS_URL: system.nats.url, CLICKHOUSE_URL: system.clickhouseUrl, PARLEY_DATABASE: system.database }
  const { stdout } = await run(process.execPath, [PARLEY, 'backup', `${folder}backup`], {
    env: { PATH: process.env.PATH, ...env },
  })
  process.stdout.write(stdout)
  const { organization, owner } = system
  const facts: ReleaseWorld = { world, organization, owner }
  await writeFile(`${folder}world.json`, `${JSON.stringify(facts, null, 1)}\n`)
  for (const [question, fields] of OF_BUILD_OR_TIME) for (const field of fields) leaveOut(answers[question], field)
  const lines = Object.entries(answers).map(
    ([question, answer]) => `${JSON.stringify(question)}: ${JSON.stringify(answer)}`,
  )
  await writeFile(`${folder}answers.json`, `{\n${lines.join(',\n')}\n}\n`)
} finally {
  for (const handler of handlers.reverse()) await handler()
}
