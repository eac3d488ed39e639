// Users -> what they did, from kept days, and what that cost: only what the conversations that are known to be theirs were priced at is read.
import type { Reader } from '../reader.ts'
import { CANDIDATES_MAX, FOUND, type Histories } from '../reads/histories.ts'
import { readSummaryCosts } from '../reads/summary-costs.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'

/** Conversations of users: ids, and by place whose they are. */
interface Found {
  readonly figures: Histories['figures']
  readonly candidates: readonly string[]
  readonly owners: readonly number[]
}

const KEYS = `
    SELECT {users:Array(String)}[pair.1] AS key, pair.2 AS conversation_id
    FROM (SELECT arrayJoin(arrayZip({owners:Array(UInt32)}, {candidates:Array(UUID)})) AS pair)`

/** Histories of users. Null: days are not kept, or the users have more conversations than can be handed to the store. */
export async function readKeptHistories(
  kept: KeptDays,
  reader: Reader,
  { organization, users }: { organization: string; users: readonly string[] },
): Promise<Histories | null> {
  const found = await kept.with(organization, 'figures', async (memory, asked) =>
    (await memory.refresh(reader, asked)) === 'done' ? conversationsOf(memory, users) : null,
  )
  if (found === null || found.candidates.length > CANDIDATES_MAX) return null
  const { figures, candidates, owners } = found
  if (candidates.length === 0) return { figures, costs: new Map() }
  const parameters = { users, owners, candidates }
  return { figures, costs: await readSummaryCosts(reader, { keys: KEYS, conversations: FOUND, parameters }) }
}

function conversationsOf(memory: OrganizationDays, users: readonly string[]): Found {
  // By number of a user his place among those asked for, from 1 on.
  const places = new Uint32Array(memory.users.size())
  users.forEach((user, i) => {
    const number = memory.users.find(user)
    if (number !== undefined) places[number] = i + 1
  })
  const sums = users.map(() => ({ conversations: 0, events: 0 }))
  const [candidates, owners]: [string[], number[]] = [[], []]
  const size = memory.ids.size()
  for (let conversation = 0; conversation < size; conversation++) {
    const place = places[memory.userOf(conversation)] as number
    const events = place === 0 ? 0 : memory.eventsOf(conversation)
    const sum = sums[place - 1]
    if (sum === undefined || events === 0) continue
    sum.conversations++
    sum.events += events
    candidates.push(memory.ids.textOf(conversation))
    owners.push(place)
  }
  const figures = users.flatMap((user, i) => {
    const sum = sums[i]
    return sum === undefined || sum.conversations === 0 ? [] : [[user, sum] as const]
  })
  return { figures: new Map(figures), candidates, owners }
}
