// The settings of a processor.
import { clickhouseDatabase, clickhouseUrl, natsUrl, pricesFile, secretKeys } from '#runtime/config.ts'
import { integer } from '#runtime/settings.ts'

/** Read by main.ts. */
export const processorSettings = {
  natsUrl,
  clickhouseUrl,
  database: clickhouseDatabase,
  prices: pricesFile,
  secretKeys,
  threads: integer('PARLEY_PARSE_THREADS', 'worker threads of one processor; 0 = one a core, up to 4', {
    default: 0,
    min: 0,
    max: 64,
  }),
  threadHeapMb: integer('PARLEY_PARSE_HEAP_MB', 'heap of one worker thread', { default: 768, min: 64, max: 16_384 }),
  parseTimeoutMs: integer('PARLEY_PARSE_TIMEOUT_MS', 'how long one payload may keep a worker thread', {
    default: 10_000,
    min: 100,
    max: 600_000,
  }),
  insertIntervalMs: integer(
    'PARLEY_INSERT_INTERVAL_MS',
    'least time between two inserts of a partition; where they take long, up to twice of it',
    {
      default: 500,
      min: 0,
      max: 60_000,
    },
  ),
  insertsInFlight: integer('PARLEY_INSERTS_IN_FLIGHT', 'ranges of one lane that are inserted at the same time', {
    default: 2,
    min: 1,
    max: 8,
  }),
  bytesInFlight: integer(
    'PARLEY_BYTES_IN_FLIGHT',
    'payload bytes that one processor parses and inserts at once; each lane holds up to two blocks more, unread',
    {
      default: 128 * 1024 * 1024,
      min: 1024 * 1024,
      max: 16 * 1024 * 1024 * 1024,
    },
  ),
  backlogBytes: integer(
    'PARLEY_BACKLOG_BYTES',
    'unread bytes of a partition from which on what is old is read beside what arrives now',
    {
      default: 128 * 1024 * 1024,
      min: 64 * 1024,
      max: 1024 * 1024 * 1024 * 1024,
    },
  ),
  bulkShare: integer(
    'PARLEY_BULK_SHARE',
    'percent of what waits in a late partition from which on one organization is read beside the others; 100 = never',
    { default: 50, min: 10, max: 100 },
  ),
  blockBytes: integer('PARLEY_BLOCK_BYTES', 'payload bytes that one insert takes at most', {
    default: 32 * 1024 * 1024,
    min: 64 * 1024,
    max: 256 * 1024 * 1024,
  }),
  repeatWindow: integer('PARLEY_REPEAT_WINDOW', 'identities a partition remembers to drop repeats', {
    default: 4_000_000,
    min: 1_000,
    max: 100_000_000,
  }),
  replayMs: integer('PARLEY_REPLAY_MS', 'how long raw payloads stay after they are stored', {
    default: 3_600_000,
    min: 0,
    max: 30 * 86_400_000,
  }),
} as const
