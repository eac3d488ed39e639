// `npm run migrate`: brings the streams of NATS_URL and the schema of CLICKHOUSE_URL to this build. Safe to run again, and while
// parts are running.
import { isParleyError } from '#proto/errors.ts'
import { clickhouseUrl, natsUrl } from '#runtime/config.ts'
import { createLog } from '#runtime/log.ts'
import { readSettings } from '#runtime/settings.ts'
import { migrate } from '#store/migrate.ts'
import { applyStreams } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { whileOwnersHold } from '#streams/hold.ts'
import { layoutSettings, limitsOf } from './settings.ts'
import { raiseServerWalls } from './wall.ts'

try {
  const settings = readSettings(process.env, { ...layoutSettings, natsUrl, clickhouseUrl })
  const nc = await connect({
    url: settings.natsUrl,
    name: 'migrate',
    log: createLog({ part: 'migrate', level: 'warn' }),
  })
  try {
    const { partitions } = await applyStreams(nc, limitsOf(settings, settings.clickhouseUrl))
    console.log(`streams: ${partitions} partitions`)
    const urls = settings.clickhouseUrl.split(',')
    for (const [i, url] of urls.entries()) {
      const applied = await migrate({
        url,
        database: settings.clickhouseDatabase,
        application: 'parley migrate',
        cluster: settings.cluster,
        whileStill: work => whileOwnersHold(nc, 'migrate', work),
      })
      const shard = urls.length === 1 ? '' : ` of shard ${i + 1}`
      console.log(applied.length === 0 ? `schema${shard}: up to date` : `schema${shard}: applied ${applied.join(', ')}`)
    }
  } finally {
    // Open, it would keep a process that has said what is wrong.
    await nc.close()
  }
  await raiseServerWalls({ settings, clickhouseUrl: settings.clickhouseUrl, say: line => console.log(`wall: ${line}`) })
} catch (error) {
  console.error(isParleyError(error) ? error.message : error)
  process.exitCode = 1
}
