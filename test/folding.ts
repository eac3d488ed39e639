// What merges do in their own time, for tests that can't wait for it.
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'

/** Merges what `events` holds into one part a partition: reversed rows are gone, projections are built. */
export async function foldEvents(store: Store): Promise<void> {
  await store.command('SYSTEM START MERGES events')
  // Parts that have projections and parts that don't are not merged with each other.
  await buildProjections(store, 'events')
  await store.command('OPTIMIZE TABLE events FINAL')
}

/** From now on inserts into `events` are as their first merge leaves them, with projections; or no longer. */
export async function aggregateInserts(store: Store, wanted = true): Promise<void> {
  await store.command(`ALTER TABLE events MODIFY SETTING materialize_projections_on_insert = ${Number(wanted)}`)
}
