// The NATS server that a command works on: NATS_URL, else the instance that runs on this machine.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import { createLog } from '#runtime/log.ts'
import { readSettings } from '#runtime/settings.ts'
import { connect } from '#streams/connect.ts'
import { cliSettings } from './config.ts'
import { UsageError } from './usage.ts'

/** Opens a connection. @throws UsageError when no instance is found or it does not answer. */
export async function openNats(): Promise<NatsConnection> {
  const settings = readSettings({ ...process.env }, cliSettings)
  const url = settings.natsUrl === '' ? await localUrl(settings.dataDir) : settings.natsUrl
  try {
    return await connect({
      url,
      name: 'parley-cli',
      log: createLog({ part: 'cli', level: 'silent' }),
      timeoutMs: 3_000,
    })
  } catch (cause) {
    throw new UsageError('NATS does not answer: is parley running?', { cause })
  }
}

async function localUrl(dataDir: string): Promise<string> {
  const file = join(dataDir, 'local.json')
  try {
    return (JSON.parse(await readFile(file, 'utf8')) as { nats_url: string }).nats_url
  } catch (cause) {
    throw new UsageError(`no running instance found in ${file}: set NATS_URL or PARLEY_DATA_DIR`, { cause })
  }
}
