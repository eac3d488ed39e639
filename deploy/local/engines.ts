// The engines of one machine and nothing else, for whoever puts data into them: takes the data directory, starts those that are not
// elsewhere, says in one line where they are, and ends them when its standard input ends. What stands there is for the launcher to know.
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isParleyError } from '#proto/errors.ts'
import { readSettings } from '#runtime/settings.ts'
import { readVersion } from '#runtime/version.ts'
import { startClickHouse } from './clickhouse.ts'
import { launcherSettings } from './config.ts'
import { type DataDir, openDataDir, type Secrets } from './data-dir.ts'
import { type Engine, startNats } from './nats.ts'

const engines: Engine[] = []
const stop = (): Promise<unknown> => Promise.all(engines.map(engine => engine.stop()))

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => void stop().then(() => process.exit(1)))

try {
  const settings = readSettings(process.env, launcherSettings)
  const dataDir = await openDataDir(settings.dataDir, await readVersion())
  process.once('exit', () => dataDir.release())
  console.log(JSON.stringify(await start(settings, dataDir)))
  const known = (await text(process.stdin)).trim()
  if (known !== '') await dataDir.saveSecrets({ ...dataDir.secrets, ...(JSON.parse(known) as Partial<Secrets>) })
  await stop()
  process.exit(0)
} catch (error) {
  console.error(isParleyError(error) ? error.message : error)
  await stop()
  process.exit(1)
}

async function start(
  settings: { readonly natsUrl: string; readonly clickhouseUrl: string; readonly clickhouseDatabase: string },
  dataDir: DataDir,
): Promise<{ nats_url: string; clickhouse_url: string }> {
  const { secrets, path } = dataDir
  const onSpawn = (engine: Engine): void => {
    engines.push(engine)
    void dataDir.remember(engine.pid)
  }
  const [nats, clickhouse] = await Promise.all([
    settings.natsUrl ||
      startNats({
        ...{ dir: join(path, 'nats'), password: secrets.natsPassword, searchPath: process.env.PATH ?? '', onSpawn },
      }).then(({ url }) => url),
    settings.clickhouseUrl ||
      startClickHouse({
        ...{ dir: join(path, 'clickhouse'), password: secrets.clickhousePassword, onSpawn },
        databases: [settings.clickhouseDatabase],
      }).then(({ url }) => url),
  ])
  return { nats_url: nats, clickhouse_url: clickhouse }
}
