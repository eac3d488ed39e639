// The instance that runs on this machine, found by its local.json.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from '#runtime/settings.ts'

/** What the launcher writes about itself. */
export interface Instance {
  readonly base_url: string
  readonly otel_url: string
  readonly org_id: string
  readonly api_key: string
  readonly pids: Readonly<Record<string, number | null | readonly number[]>>
}

const dataDir = text('PARLEY_DATA_DIR', 'where the running instance keeps local.json', '.parley')

/** Reads local.json of the data directory that the environment names. */
export async function findInstance(): Promise<Instance> {
  const dir = dataDir.read(process.env.PARLEY_DATA_DIR)
  if (dir instanceof Error) throw dir
  try {
    return JSON.parse(await readFile(join(dir, 'local.json'), 'utf8')) as Instance
  } catch (cause) {
    throw new Error(`no running instance found in ${dir}: start one with "npm start", or set PARLEY_DATA_DIR`, {
      cause,
    })
  }
}

/** Posts JSON and returns the parsed answer. Throws on anything but 2xx. */
export async function post<T>(url: string, headers: Record<string, string>, body: unknown): Promise<T> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${answer.status} ${url}: ${await answer.text()}`)
  return (await answer.json()) as T
}
