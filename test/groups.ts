// Test files that share a process, by group: most of what each of them costs is a start, and the same modules loaded and compiled once
// more. None of them changes what another one could meet, and each has its engines' places to itself as before.

/** Files and folders from the root. A file that is also in test/longest.ts runs by itself. */
export const GROUPS: readonly (readonly string[])[] = [
  ['query/access.test.ts', 'query/auth.test.ts', 'query/cors.test.ts', 'query/server.test.ts', 'query/sign-in'],
  ['query/endpoints/tools', 'query/reads', 'query/endpoints/raw-logs/export.test.ts', 'query/reader.test.ts'],
  [
    ...['query/endpoints/audit', 'query/endpoints/live', 'query/endpoints/organizations', 'query/endpoints/prices'],
    ...['query/hostile.test.ts', 'query/openapi.test.ts', 'query/plans.test.ts', 'query/shares.test.ts'],
    ...['query/days', 'query/fixture-remembered.test.ts', 'query/fuzz.test.ts', 'query/span-tree.test.ts'],
  ],
  [
    ...['processors/corrector.test.ts', 'processors/hold.test.ts', 'processors/members.test.ts'],
    ...[
      'processors/following.test.ts',
      'processors/placing.test.ts',
      'processors/purge.test.ts',
      'processors/readings.test.ts',
    ],
  ],
  ['store'],
  [
    ...['test/ingest-forward.test.ts', 'test/ingest-organizations.test.ts', 'test/ingest-statuses.test.ts'],
    ...['test/ingest-two.test.ts', 'test/ingest-write-key.test.ts'],
  ],
  [
    ...['processors/calls.test.ts', 'processors/columns', 'processors/parsers', 'processors/protocol.test.ts'],
    ...['processors/repeats.test.ts', 'processors/rhythm.test.ts', 'processors/tally.test.ts', 'pricing'],
    'processors/let-go.test.ts',
  ],
  [
    ...['proto/envelope.test.ts', 'proto/errors.test.ts', 'proto/ids.test.ts', 'proto/otlp', 'proto/retention.test.ts'],
    ...['proto/rows.test.ts', 'proto/sdk', 'proto/time.test.ts', 'proto/voice', 'ingest/auth.test.ts'],
    ...['ingest/body.test.ts', 'ingest/drain.test.ts', 'ingest/rates.test.ts', 'ingest/sessions.test.ts'],
    ...['ingest/success-head.test.ts', 'ingest/surfaces', 'ingest/turn-clock.test.ts', 'streams', 'test/soak'],
    ...['test/ingest-parsers.test.ts', 'test/readme.test.ts', 'test/storm/proxy.test.ts', 'deploy/advisories.test.ts'],
    ...['cli/main.test.ts', 'cli/time.test.ts', 'runtime'],
  ],
]
