// The launcher's settings.
import { CLICKHOUSE_ABOUT, commonSettings, dataDir, NATS_ABOUT } from '#runtime/config.ts'
import { addresses, HTTP, integer, NATS, text } from '#runtime/settings.ts'
import { layoutSettings } from '../settings.ts'

const port = { min: 0, max: 65535 }

export const launcherSettings = {
  ...layoutSettings,
  logLevel: commonSettings.logLevel,
  dataDir,
  host: text('PARLEY_HOST', 'address on which receivers listen', '127.0.0.1'),
  port: integer('PARLEY_PORT', 'port of the REST interface; 0 picks a free one', { default: 8080, ...port }),
  otlpPort: integer('PARLEY_OTLP_PORT', 'port of the trace collector; 0 picks a free one', { default: 4318, ...port }),
  receivers: integer('PARLEY_RECEIVERS', 'receiver processes', { default: 1, min: 1, max: 64 }),
  processors: integer('PARLEY_PROCESSORS', 'processor processes; more than partitions only wait', {
    default: 1,
    min: 1,
    max: 64,
  }),
  diskMinFreePercent: integer(
    'PARLEY_DISK_MIN_FREE_PERCENT',
    'free share of the disk below which new payloads are refused; 0 never refuses',
    { default: 10, min: 0, max: 90 },
  ),
  diskLowPercent: integer(
    'PARLEY_DISK_LOW_PERCENT',
    'free share of the disk below which the launcher warns and no scheduled verify runs',
    { default: 15, min: 0, max: 95 },
  ),
  natsUrl: addresses('NATS_URL', NATS_ABOUT, { required: false, schemes: NATS }),
  natsPort: integer('PARLEY_NATS_PORT', 'port of the NATS server that the launcher starts; 0 picks a free one', {
    default: 0,
    ...port,
  }),
  clickhouseUrl: addresses('CLICKHOUSE_URL', CLICKHOUSE_ABOUT, { required: false, schemes: HTTP }),
  clickhousePort: integer(
    'PARLEY_CLICKHOUSE_PORT',
    'port of the ClickHouse that the launcher starts; 0 picks a free one',
    {
      default: 0,
      ...port,
    },
  ),
} as const
