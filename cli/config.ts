// The command line's settings.
import { clickhouseDatabase, pricesFile, secretKeys, sqlUrl, userSql } from '#runtime/config.ts'
import { text, url } from '#runtime/settings.ts'

export const cliSettings = {
  natsUrl: url('NATS_URL', 'NATS server with JetStream', { required: false }),
  clickhouseUrl: url('CLICKHOUSE_URL', 'ClickHouse over HTTP', { required: false }),
  database: clickhouseDatabase,
  sqlUrl,
  userSql,
  prices: pricesFile,
  secretKeys,
  dataDir: text('PARLEY_DATA_DIR', 'folder of all data, logs and local.json', '.parley'),
} as const
