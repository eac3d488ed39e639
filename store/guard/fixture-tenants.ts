// Two tenants under the same ids. Everything that the second one says carries a mark, which no answer to the first may hold.
import type { Store } from '#store/client.ts'

export const A = '00000000-0000-4000-8000-00000000000a'
export const B = '00000000-0000-4000-8000-00000000000b'
/** What only the second tenant says. */
export const MARK = /mallory/

/** Writes events, captures and texts of both. */
export async function writeTenants(store: Store): Promise<void> {
  await writeTenant(store, A, 'ada', 40)
  await writeTenant(store, B, 'mallory', 60)
}

/** Writes `count` events of one tenant, whose words all begin with `word`. */
export async function writeTenant(store: Store, organization: string, word: string, count: number): Promise<void> {
  const parameters = { organization, word, count }
  const conversation = `toUUID(concat('00000000-0000-4000-9000-00000000000', toString(number % 5)))`
  await store.command(
    `INSERT INTO events (organization, conversation_id, event_id, ts, duration_ns, source, kind, name, failed, error_type, user_id,
       input_preview, metadata, cost_nanos, version, sign)
     SELECT {organization:UUID}, ${conversation}, reinterpretAsUUID(sipHash128(number, {word:String})),
       toDateTime64('2026-06-15 12:00:00', 9, 'UTC') - toIntervalMinute(number * 7), number * 1000000, 1 + number % 3, 1 + number % 4,
       concat({word:String}, '_', toString(number % 3)), number % 5 = 0, if(number % 5 = 0, concat({word:String}, ' fault'), ''),
       concat({word:String}, toString(number % 4)), concat('{"q":"', {word:String}, '"}'), map('region', {word:String}), number, 1, 1
     FROM numbers({count:UInt32})`,
    { parameters },
  )
  await store.command(
    `INSERT INTO texts (organization, group_id, event_id, ts, input, output)
     SELECT {organization:UUID}, ${conversation}, reinterpretAsUUID(sipHash128(number, {word:String})), now64(9), concat({word:String}, ' order'), ''
     FROM numbers({count:UInt32})`,
    { parameters },
  )
  await store.command(
    `INSERT INTO sessions (organization, conversation_id, source, user_id, user_data, started_at, received_at)
     SELECT {organization:UUID}, ${conversation}, 3, {word:String}, map('plan', {word:String}), now64(3), now64(3) FROM numbers(5)`,
    { parameters },
  )
}
