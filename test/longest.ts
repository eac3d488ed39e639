// Test files that take long, the longest first: they are started first, so that none of them is what everybody waits for at the end.
// Which ones these are tells `npm test`, which prints what each took.

/** Paths from the root. */
export const LONGEST: readonly string[] = [
  'processors/absurd.test.ts',
  'test/kill-points.test.ts',
  'processors/owner.test.ts',
  'processors/replace.test.ts',
  'deploy/local/stop.test.ts',
  'test/kill.test.ts',
  'deploy/local/launcher.test.ts',
  'processors/bulk.test.ts',
  'processors/lanes.test.ts',
  'test/stopped-owner.test.ts',
  'test/calls.test.ts',
  'test/ingest-faults.test.ts',
  'processors/kill.test.ts',
  'test/otel.test.ts',
  'test/late-knowledge.test.ts',
  'analysis/main.test.ts',
  'cli/dead.test.ts',
  'query/endpoints/user-stories/user-stories.test.ts',
  'query/endpoints/user-stories/grouped.test.ts',
  'processors/exploration/explore.test.ts',
  'cli/verify.test.ts',
  'query/recount.test.ts',
  'query/recount-figures.test.ts',
]
