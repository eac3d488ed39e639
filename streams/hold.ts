// Asking all owners to hold still, from the side of a backup or of a migration: nothing is stored and nothing that is stored changes until it is released.
// Nobody is trusted to have held on: whoever has taken what has to belong together asks once more whether it was so all the time.
import { hostname } from 'node:os'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { createInbox } from '@nats-io/transport-node'
import { HOLD_REPEAT_MS, HOLD_SUBJECT, type HoldAnswer, type HoldWish } from '#proto/hold.ts'
import { cursorKeyOf, leaseKeyOf } from '#proto/streams.ts'
import { openBuckets } from './apply.ts'
import { readLayout } from './layout.ts'
import { type Turn, takeTurn } from './turn.ts'

/** What `holdOwners` needs. */
export interface HoldOwnersOptions {
  readonly nc: NatsConnection
  readonly leases: KV
  readonly cursors: KV
  readonly partitions: number
  /** How long owners may take to come to rest. */
  readonly patienceMs: number
}

/** Owners that hold still. */
export interface HeldOwners {
  /** True when every partition has been still since it was held. @throws when NATS or an owner does not answer any more. */
  isUnbroken(): Promise<boolean>
  /** Lets owners go on; only purges wait, until it is released. */
  keep(): void
  /** Lets owners do everything again. */
  release(): Promise<void>
}

const LOOK_MS = 100

/**
 * Holds all partitions. One that nobody owns is still by itself: what would move it is an owner, who writes its cursor first.
 * @throws when NATS does not answer, or the owner of a partition does not come to rest in time.
 */
export async function holdOwners(options: HoldOwnersOptions): Promise<HeldOwners> {
  const { nc, leases, cursors, partitions, patienceMs } = options
  const inbox = createInbox()
  let wish: HoldWish = { is: 'still', round: 1 }
  let answers = new Map<number, string>()
  const answered = nc.subscribe(inbox, {
    callback: (error, message) => {
      // Empty: the server says that nobody listens.
      if (error || message.data.length === 0) return
      const { partition, round, since } = message.json<HoldAnswer>()
      if (round === wish.round) answers.set(partition, since)
    },
  })
  const tell = (): void => {
    if (!nc.isClosed()) nc.publish(HOLD_SUBJECT, JSON.stringify(wish), { reply: inbox })
  }
  const repeating = setInterval(tell, HOLD_REPEAT_MS)
  let released = false
  const release = async (): Promise<void> => {
    if (released) return
    released = true
    clearInterval(repeating)
    wish = { is: 'over', round: wish.round }
    tell()
    if (nc.isClosed()) return
    answered.unsubscribe()
    await nc.flush()
  }

  /** Who has answered, or that nobody owns it and how its cursor stands. */
  const standOf = async (partition: number): Promise<string | undefined> => {
    const said = answers.get(partition)
    if (said !== undefined) return said
    const lease = await leases.get(leaseKeyOf(partition))
    if (lease?.operation === 'PUT') return undefined
    return `nobody/${(await cursors.get(cursorKeyOf(partition)))?.revision ?? 0}`
  }

  const ask = async (): Promise<readonly string[]> => {
    answers = new Map()
    tell()
    const deadline = performance.now() + patienceMs
    for (;;) {
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
      const stands: (string | undefined)[] = []
      for (let partition = 0; partition < partitions; partition++) stands.push(await standOf(partition))
      if (stands.every(stand => stand !== undefined)) return stands
      if (performance.now() < deadline) continue
      const silent = stands.flatMap((stand, partition) => (stand === undefined ? [partition] : []))
      throw new Error(`the owner of partition ${silent.join(', ')} does not come to rest: is it of this version?`)
    }
  }

  try {
    const first = await ask()
    return {
      isUnbroken: async () => {
        wish = { is: 'still', round: wish.round + 1 }
        const now = await ask()
        return now.every((stand, partition) => stand === first[partition])
      },
      keep: () => {
        wish = { is: 'keep', round: wish.round }
        tell()
      },
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** Owners finish what they are storing before they rest. */
const REST_MS = 120_000

/**
 * Does work while no owner stores or changes anything, one at a time under this name; it may ask whether that was so without a break.
 * @throws what the work throws, when somebody else has the turn and keeps it, or when an owner does not come to rest.
 */
export async function whileOwnersHold(
  nc: NatsConnection,
  name: string,
  work: (isUnbroken: () => Promise<boolean>) => Promise<void>,
): Promise<void> {
  const { control, leases, cursors } = await openBuckets(nc)
  const partitions = (await readLayout(control))?.partitions ?? 0
  const deadline = performance.now() + REST_MS
  const take = (): Promise<Turn | null> => takeTurn(leases, name, `${hostname()}/${process.pid}`)
  let turn = await take()
  while (turn === null) {
    if (performance.now() > deadline) throw new Error(`another ${name} is under way`)
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    turn = await take()
  }
  const { lost } = turn
  try {
    const held = await holdOwners({ nc, leases, cursors, partitions, patienceMs: REST_MS })
    try {
      await work(async () => !lost.aborted && (await held.isUnbroken()))
    } finally {
      await held.release()
    }
  } finally {
    await turn.release()
  }
}
