// The settings of the analysis process.
import { clickhouseDatabase, clickhouseUrl, natsUrl } from '#runtime/config.ts'
import { integer } from '#runtime/settings.ts'

/** Declared as data; the README's table is compared with it. */
export const analysisSettings = {
  natsUrl,
  clickhouseUrl,
  database: clickhouseDatabase,
  sweepSeconds: integer(
    'PARLEY_SWEEP_SECONDS',
    'how often what was stored since is compared with what was erased, and erasures under way are continued',
    { default: 60, min: 1, max: 86_400 },
  ),
  verifyHours: integer(
    'PARLEY_VERIFY_HOURS',
    'hours between two runs of verify over the whole store; 0 never runs it',
    {
      default: 24,
      min: 0,
      max: 8_760,
    },
  ),
  ledgerSeconds: integer(
    'PARLEY_LEDGER_SECONDS',
    'seconds between two looks for finished ranges that the ledger does not hold yet, and for events of theirs whose id was received before in another session',
    { default: 5, min: 1, max: 3_600 },
  ),
  retentionHours: integer(
    'PARLEY_RETENTION_HOURS',
    'hours between two sweeps of what organizations keep no longer; 0 never deletes it',
    {
      default: 24,
      min: 0,
      max: 8_760,
    },
  ),
} as const
