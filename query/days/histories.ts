// Users -> what they did and what it cost, from kept days.
import type { Reader } from '../reader.ts'
import type { Histories } from '../reads/histories.ts'
import { windowFrom } from '../window.ts'
import { EVERY, type KeptFilter, type Meets } from './filter.ts'
import type { KeptDays } from './kept.ts'
import { asOfNow, type OrganizationDays, type Refresh } from './organization.ts'
import { pricesOfKeys } from './prices.ts'
import { withBytes, withWords } from './scratch.ts'
import { sent } from './sent.ts'

/** Histories of users, of those of their conversations that meet a condition at any time. Null: days are not kept. */
export function readKeptHistories(
  kept: KeptDays,
  reader: Reader,
  { organization, users, filter = EVERY }: { organization: string; users: readonly string[]; filter?: KeptFilter },
): Promise<Histories | null> {
  return kept.with({ organization, reader }, ['prices', ...filter.kinds], async (memory, asked) => {
    const found = await filter.ask(reader, windowFrom(0), { memory, asked })
    let isLent = false
    const hear: Refresh['hear'] = (how, ageMs) => {
      isLent = how === 'lent'
      asked.hear?.(how, ageMs)
    }
    const told = async (asking: Refresh): Promise<Histories | null> => {
      if ((await memory.refresh(reader, asking)) !== 'done') return null
      await sent()
      return historiesOf(memory, users, found.meets(memory))
    }
    const histories = await told({ ...found.asked, hear })
    // Users are those of rows, which may be newer than what is lent.
    const isBehind = isLent && users.some(user => !histories?.figures.has(user))
    return isBehind ? told(asOfNow(memory, found.asked)) : histories
  })
}

/** Few users fit into bytes, and a walk over millions of prices looks each of their conversations up there. */
const historiesOf = (memory: OrganizationDays, users: readonly string[], meets: Meets): Histories =>
  (users.length < 256 ? withBytes : withWords)(memory.ids.size(), owners =>
    addHistories(memory, users, { meets, owners }),
  )

/** `owners`: by number of a conversation the place of its user. */
function addHistories(
  memory: OrganizationDays,
  users: readonly string[],
  { meets, owners }: { readonly meets: Meets; readonly owners: Uint8Array | Uint32Array },
): Histories {
  // By number of a user his place among those asked for, from 1 on.
  const places = new Uint32Array(memory.users.size())
  users.forEach((user, i) => {
    const number = memory.users.find(user)
    if (number !== undefined) places[number] = i + 1
  })
  const sums = users.map(() => ({ conversations: 0, events: 0 }))
  const { users: of, events: counts } = memory.settled()
  for (let conversation = 0; conversation < counts.length; conversation++) {
    const place = places[of[conversation] as number] as number
    if (place === 0) continue
    const events = counts[conversation] as number
    const sum = sums[place - 1]
    if (sum === undefined || events === 0 || !meets(conversation)) continue
    sum.conversations++
    sum.events += events
    owners[conversation] = place
  }
  const figures = users.flatMap((user, i) => {
    const sum = sums[i]
    return sum === undefined || sum.conversations === 0 ? [] : [[user, sum] as const]
  })
  return { figures: new Map(figures), costs: pricesOfKeys(memory, users, { first: owners, others: new Map() }) }
}
