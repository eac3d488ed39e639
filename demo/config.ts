// The demo's settings.
import { dataDir } from '#runtime/config.ts'
import { integer, text } from '#runtime/settings.ts'

export const demoSettings = {
  dataDir,
  seed: text('PARLEY_DEMO_SEED', 'the same seed sends the same conversations, ids included', 'parley'),
  conversations: integer('PARLEY_DEMO_CONVERSATIONS', 'how many conversations to send', {
    default: 1500,
    min: 1,
    max: 1_000_000,
  }),
  users: integer('PARLEY_DEMO_USERS', 'how many end users they belong to', { default: 300, min: 1, max: 100_000 }),
  days: integer('PARLEY_DEMO_DAYS', 'how many days of history they cover', { default: 7, min: 1, max: 300 }),
  concurrency: integer('PARLEY_DEMO_CONCURRENCY', 'requests at a time', { default: 32, min: 1, max: 1024 }),
} as const
