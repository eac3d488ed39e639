// The engines that a backup is put into: those of NATS_URL and CLICKHOUSE_URL; what of them is not set is started for as long as it takes,
// in the data directory in which the launcher finds it afterwards.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readSettings } from '#runtime/settings.ts'
import { cliSettings } from '../config.ts'
import { UsageError } from '../usage.ts'

const PROGRAM = fileURLToPath(new URL('../../deploy/local/engines.ts', import.meta.url))

/** Engines in which nothing else works. */
export interface QuietEngines {
  readonly natsUrl: string
  readonly clickhouseUrl: string
  /** The folder that the launcher has to be told; absent: no engine was started. */
  readonly dataDir?: string
  /** Ends what was started; `launcher` is what the launcher is to know, as JSON. */
  close(launcher?: string): Promise<void>
}

/** Opens, or starts, both. @throws UsageError when an instance runs in the data directory, or an engine does not start. */
export async function openEngines(): Promise<QuietEngines> {
  const { natsUrl, clickhouseUrl, dataDir } = readSettings({ ...process.env }, cliSettings)
  if (clickhouseUrl.includes(',')) throw new UsageError('a backup is of one shard, and CLICKHOUSE_URL names several')
  if (natsUrl !== '' && clickhouseUrl !== '') return { natsUrl, clickhouseUrl, close: async () => {} }
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([once(lines, 'line') as Promise<[string]>, ended.then(() => undefined)])
  if (first === undefined) throw new UsageError(`the engines of ${dataDir} were not started`)
  const urls = JSON.parse(first[0]) as { nats_url: string; clickhouse_url: string }
  return {
    natsUrl: urls.nats_url,
    clickhouseUrl: urls.clickhouse_url,
    dataDir,
    close: async (launcher = '') => {
      child.stdin.end(launcher)
      await ended
    },
  }
}
