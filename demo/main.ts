// npm run demo: sends a seeded stream of conversations to the instance that runs on this machine, with a progress bar, and says
// where to look.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isParleyError } from '#proto/errors.ts'
import { readSettings, type Values } from '#runtime/settings.ts'
import { demoSettings } from './config.ts'
import { planStories } from './plan.ts'
import { sendStories } from './send.ts'

const BAR = 30

const settings = readOrExit()
const instance = await findInstance(settings.dataDir)
await requireAnswer(instance.base_url)

const all = planStories(settings, Date.now())

const startedAt = Date.now()
const result = await sendStories(
  { baseUrl: instance.base_url, otelUrl: instance.otel_url, organization: instance.org_id },
  all,
  { concurrency: settings.concurrency, onProgress: done => showProgress(done, all.length) },
)
const seconds = (Date.now() - startedAt) / 1000
process.stdout.write('\n')
console.log(
  `${all.length} conversations of ${settings.users} users: ${result.requests} requests, ${result.events} events accepted in ${seconds.toFixed(1)} s`,
)
for (const [problem, count] of result.refused) console.log(`refused ${count} times: ${problem}`)
console.log(
  `Look at them: curl -s ${instance.base_url}/dashboard/api/user-stories -H 'x-api-key: ${instance.api_key}' -X POST`,
)
process.exitCode = result.refused.size === 0 ? 0 : 1

function showProgress(done: number, total: number): void {
  const full = Math.round((done / total) * BAR)
  const line = `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${done}/${total} conversations`
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`)
  else if (done % Math.ceil(total / 10) === 0 || done === total) process.stdout.write(`${line}\n`)
}

/** A setting that is wrong is one line. */
function readOrExit(): Values<typeof demoSettings> {
  try {
    return readSettings({ ...process.env }, demoSettings)
  } catch (error) {
    if (isParleyError(error)) leave(error.message)
    throw error
  }
}

/** A launcher that was killed leaves its local.json behind: thousands of requests would each be tried again and again. */
async function requireAnswer(baseUrl: string): Promise<void> {
  try {
    await fetch(`${baseUrl}/healthz`)
  } catch {
    leave(`Nothing answers at ${baseUrl}. Start parley with "npm start".`)
  }
}

function leave(line: string): never {
  console.error(line)
  process.exit(1)
}

async function findInstance(
  dataDir: string,
): Promise<{ base_url: string; otel_url: string; org_id: string; api_key: string }> {
  const file = join(dataDir, 'local.json')
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    leave(`No running instance found in ${file}. Start one with "npm start", or set PARLEY_DATA_DIR.`)
  }
}
