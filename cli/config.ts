// The command line's settings.
import {
  CLICKHOUSE_ABOUT,
  clickhouseCluster,
  clickhouseDatabase,
  NATS_ABOUT,
  pricesFile,
  secretKeys,
  sqlUrl,
  userSql,
} from '#runtime/config.ts'
import { addresses, HTTP, NATS, text } from '#runtime/settings.ts'

export const cliSettings = {
  natsUrl: addresses('NATS_URL', NATS_ABOUT, { required: false, schemes: NATS }),
  clickhouseUrl: addresses('CLICKHOUSE_URL', CLICKHOUSE_ABOUT, { required: false, schemes: HTTP }),
  database: clickhouseDatabase,
  cluster: clickhouseCluster,
  sqlUrl,
  userSql,
  prices: pricesFile,
  secretKeys,
  dataDir: text('PARLEY_DATA_DIR', 'folder of all data, logs and local.json', '.parley'),
} as const
