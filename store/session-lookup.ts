// Which conversations the store knows: the one question a receiver asks it.
import type { StoreOptions } from '#store/client.ts'
import { createShards } from '#store/shards.ts'

/** A conversation of an organization, both as lower-case uuids. */
export interface SessionKey {
  readonly organization: string
  readonly conversation: string
}

/** Answers for a batch of keys: those that were captured, as `sessionKeyText` writes them. Rejects when the store cannot answer. */
export type AskSessions = (keys: readonly SessionKey[]) => Promise<ReadonlySet<string>>

/** `organization/conversation` */
export function sessionKeyText(key: SessionKey): string {
  return `${key.organization}/${key.conversation}`
}

/** A receiver waits a second for an answer; a query that takes longer is of no use to it. */
const QUERY_TIMEOUT_MS = 2_000

/** Opens a client for that question alone. The pairs are found by the sorting key of `sessions`: a granule or two each. */
export function openSessionLookup(options: StoreOptions): { readonly ask: AskSessions; close(): Promise<void> } {
  const shards = createShards(options)
  const sql = `
    SELECT DISTINCT organization, conversation_id FROM ${options.database}.sessions
    WHERE (organization, conversation_id) IN (
      SELECT pair.1, pair.2
      FROM (SELECT arrayJoin(arrayZip({organizations:Array(UUID)}, {conversations:Array(UUID)})) AS pair)
    )`
  return {
    ask: async keys => {
      const signal = AbortSignal.timeout(QUERY_TIMEOUT_MS)
      const asked = [...Map.groupBy(keys, key => shards.of(key.organization))].map(([store, own]) =>
        store.read<{ organization: string; conversation_id: string }>(sql, {
          parameters: {
            organizations: own.map(key => key.organization),
            conversations: own.map(key => key.conversation),
          },
          settings: { max_execution_time: QUERY_TIMEOUT_MS / 1000 },
          signal,
        }),
      )
      const rows = (await Promise.all(asked)).flat()
      return new Set(rows.map(row => `${row.organization}/${row.conversation_id}`))
    },
    close: () => shards.close(),
  }
}
