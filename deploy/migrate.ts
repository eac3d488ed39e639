// `npm run migrate`: brings the streams of NATS_URL and the schema of CLICKHOUSE_URL to this build. Safe to run again, and while
// parts are running.
import { isParleyError } from '#proto/errors.ts'
import { clickhouseUrl, natsUrl } from '#runtime/config.ts'
import { createLog } from '#runtime/log.ts'
import { readSettings } from '#runtime/settings.ts'
import { migrate } from '#store/migrate.ts'
import { applyStreams } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { layoutSettings, limitsOf } from './settings.ts'
import { raiseServerWall } from './wall.ts'

try {
  const settings = readSettings(process.env, { ...layoutSettings, natsUrl, clickhouseUrl })
  const nc = await connect({
    url: settings.natsUrl,
    name: 'migrate',
    log: createLog({ part: 'migrate', level: 'warn' }),
  })
  const { partitions } = await applyStreams(nc, limitsOf(settings))
  await nc.close()
  console.log(`streams: ${partitions} partitions`)
  const applied = await migrate({
    url: settings.clickhouseUrl,
    database: settings.clickhouseDatabase,
    application: 'parley migrate',
    cluster: settings.cluster,
  })
  console.log(applied.length === 0 ? 'schema: up to date' : `schema: applied ${applied.join(', ')}`)
  await raiseServerWall({ settings, clickhouseUrl: settings.clickhouseUrl, say: line => console.log(`wall: ${line}`) })
} catch (error) {
  console.error(isParleyError(error) ? error.message : error)
  process.exitCode = 1
}
