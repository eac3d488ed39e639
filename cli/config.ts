// The command line's settings.
import {
  CLICKHOUSE_ABOUT,
  clickhouseCluster,
  clickhouseDatabase,
  dataDir,
  NATS_ABOUT,
  pricesFile,
  secretKeys,
  sqlUrl,
  userSql,
} from '#runtime/config.ts'
import { addresses, HTTP, NATS } from '#runtime/settings.ts'

export const cliSettings = {
  natsUrl: addresses('NATS_URL', NATS_ABOUT, { required: false, schemes: NATS }),
  clickhouseUrl: addresses('CLICKHOUSE_URL', CLICKHOUSE_ABOUT, { required: false, schemes: HTTP }),
  database: clickhouseDatabase,
  cluster: clickhouseCluster,
  sqlUrl,
  userSql,
  prices: pricesFile,
  secretKeys,
  dataDir,
} as const
