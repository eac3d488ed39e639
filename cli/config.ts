// The command line's settings.
import { clickhouseDatabase, NATS_ABOUT, pricesFile, secretKeys, sqlUrl, userSql } from '#runtime/config.ts'
import { addresses, text, url } from '#runtime/settings.ts'

export const cliSettings = {
  natsUrl: addresses('NATS_URL', NATS_ABOUT, { required: false }),
  clickhouseUrl: url('CLICKHOUSE_URL', 'ClickHouse over HTTP', { required: false }),
  database: clickhouseDatabase,
  sqlUrl,
  userSql,
  prices: pricesFile,
  secretKeys,
  dataDir: text('PARLEY_DATA_DIR', 'folder of all data, logs and local.json', '.parley'),
} as const
