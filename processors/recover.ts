// What an earlier owner left: its open intents are brought to their end (the same rows again, or the proof that they are there)
// before anything new is read. Only then is the memory of identities complete.

import { judgementOf } from './calls.ts'
import type { PartitionContext } from './context.ts'
import { insist } from './context.ts'
import { Stopped } from './cursor.ts'
import { SETTINGS_HASH, settle } from './insert.ts'
import { scopeOf } from './lanes.ts'
import { listening, type Prepared, prepareRange } from './prepare.ts'
import type { Intent } from './protocol.ts'
import { finish, sameBlocks } from './protocol.ts'
import { publishRange, storeRange, supersedeWith, unplaced } from './range.ts'
import type { Reader, StreamMessage } from './reader.ts'
import { rebuildWindow } from './rebuild.ts'
import { takeReplaced } from './replace.ts'
import { isStored } from './settle.ts'

/** Resolves when every intent that stands in the cursor is stored and finished. @throws Lost, Stopped, Halted. */
export async function recoverIntents(context: PartitionContext, readers: ReadonlyMap<number, Reader>): Promise<void> {
  const { cursor, partition, settling, signal, verdicts, calls } = context
  // What an earlier owner sent and the server still works on must not meet what is sent from here.
  await insist(settling.outage, signal, () => settle(settling.store, `p${partition}`))
  const left: Left[] = []
  const others: Prepared[] = []
  // First every recipe is read again, so that whatever has to be judged anew is judged against all that the others store.
  for (const found of cursor.value.intents) {
    const messages = await readRange(context, readers.get(found.lane) as Reader, found)
    if (found.done) continue
    if (messages.length === 0) {
      context.log.error(
        { from: found.from, to: found.to },
        'the messages of an unfinished range are gone from the stream',
      )
      await cursor.write(value => finish(value, found))
      continue
    }
    const heard = listening()
    const prepared = await prepareRange(toolsOf(context), heard, messages, {
      ...found,
      reading: context.shared.readings.as(found.readings),
      place: loose => insist(context.streamOutage, signal, () => context.placing.recorded(loose, found)),
    })
    // Also of a recipe that is read differently now: until it is replaced, whoever reads it as before may store its claims.
    verdicts.learn(heard.heard(), found.repeats)
    calls.learn(heard.heard().calls ?? [], found.repeats, found.replaced ?? [])
    const isSame = sameBlocks(prepared.intent.blocks, found.blocks) && found.settings === SETTINGS_HASH
    if (isSame) left.push({ prepared: { ...prepared, intent: found }, is: 'reproduced' })
    else others.push({ ...prepared, intent: found })
  }
  for (const prepared of others) {
    const stored = await isStored(context.settling, prepared.intent)
    // Read differently now than then, but everything that was promised then is there.
    if (stored) await learnStored(context, prepared.intent)
    left.push({ prepared, is: stored ? 'stored' : 'different' })
  }
  // In the order of the stream: a later report of a call can only take the place of one whose range is finished.
  left.sort((a, b) => a.prepared.intent.from - b.prepared.intent.from)
  for (const one of left) await complete(context, one)
  context.floorMoved()
}

/** An open intent, and what reading its range again made of it. */
interface Left {
  readonly prepared: Prepared
  readonly is: 'reproduced' | 'stored' | 'different'
}

async function complete(context: PartitionContext, { prepared, is }: Left): Promise<void> {
  if (is === 'different') return storeAnew(context, prepared)
  if (is === 'reproduced') await storeRange(context, prepared, true)
  else {
    await takeReplaced(context, prepared.intent)
    await publishRange(context, prepared)
  }
  await context.cursor.write(value => finish(value, prepared.intent))
}

const toolsOf = ({ shared, partition, signal }: PartitionContext) => ({ pool: shared.pool, partition, signal })

async function learnStored({ shared, partition, settling, signal, verdicts }: PartitionContext, intent: Intent) {
  const range = { after: intent.from - 1, through: intent.to, ...scopeOf(intent) }
  const options = { partition, ranges: [range], max: shared.repeatWindow }
  await insist(settling.outage, signal, () => rebuildWindow(shared.store, verdicts.main, options))
}

/** Takes back what the recipe stored and stores the range as this build reads it. */
async function storeAnew(context: PartitionContext, { intent: found, messages }: Prepared): Promise<void> {
  const { cursor, verdicts, calls, log } = context
  const { lane, from, to, classes, dead } = found
  log.warn({ from, to }, 'the recipe of a range is not reproduced: storing it anew')
  const generation = cursor.value.generation + 1
  const scope = scopeOf(found)
  const reading = context.shared.readings.now()
  const recipe = { lane, from, ...scope, generation, classes, reading, dead, repeats: null, place: unplaced(context) }
  calls.forget({ from, to, ...scope })
  const judgement = judgementOf(context, verdicts.reopen({ from, to }), { lane, from, to })
  const again = await prepareRange(toolsOf(context), judgement, messages, recipe)
  const anew = { ...again, intent: { ...again.intent, to } }
  await supersedeWith(context, anew)
  await storeRange(context, anew, false)
  await cursor.write(value => finish(value, found))
}

async function readRange(context: PartitionContext, reader: Reader, { to }: Intent): Promise<StreamMessage[]> {
  const messages: StreamMessage[] = []
  for (;;) {
    for (;;) {
      const more = reader.take(Number.POSITIVE_INFINITY, to)
      if (more.length === 0) break
      messages.push(...more)
    }
    if (reader.length > 0 || messages.at(-1)?.sequence === to) return messages
    await arrival(reader, 1_000)
    if (context.signal.aborted || context.draining()) throw new Stopped()
  }
}

function arrival(reader: Reader, ms: number): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    reader.onArrival = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}
