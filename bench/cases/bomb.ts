// How long does a receiver's event loop stand still while gzip bombs (1000:1) arrive? Measured where it happens: CPU that the loop's
// thread uses in one go, which is its own doing, and how late it comes to a timer, which also tells who else wanted the cores. And as a
// sender sees it: by answers of /healthz, which cost nothing, one after the other. Beside the bombs and without them.
import { once } from 'node:events'
import { Agent, get, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { LoopDelay } from '../loop-delay.ts'
import type { ReceiverRig } from '../receiver.ts'
import { startReceiverRig } from '../receiver.ts'
import { percentile, table } from '../stats.ts'

const MiB = 1024 * 1024
const ROUNDS = 20
const BOMBS_AT_ONCE = 4
const QUIET_MS = 3_000

/** What was seen in one stretch of time. */
interface Stretch {
  readonly loop: LoopDelay
  readonly answersMs: readonly number[]
}

/** Runs the case and prints its table. */
export async function bomb(): Promise<void> {
  const rig = await startReceiverRig({ preload: new URL('../loop-delay.ts', import.meta.url) })
  try {
    const bytes = gzipSync(Buffer.alloc(64 * MiB, 'x'))
    const answers: number[] = []
    const attack = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        answers.push(...(await Promise.all(Array.from({ length: BOMBS_AT_ONCE }, () => send(rig, bytes)))))
      }
    }
    await watch(rig, attack)
    const quiet = await watch(rig, () => delay(QUIET_MS))
    const beside = await watch(rig, attack)
    console.log(
      table(
        [
          ...['', "the loop's CPU from timer to timer, p99, ms", 'most, ms', 'loop late, p99, ms', 'longest, ms'],
          ...['/healthz p50, ms', 'p99, ms', 'longest, ms', 'answers'],
        ],
        [rowOf('without bombs', quiet), rowOf('beside bombs', beside)],
      ),
    )
    const kinds = [...new Set(answers)].join(', ')
    console.log(`\n${answers.length} bombs of ${bytes.length} bytes for ${64 * MiB}; answers: ${kinds}`)
  } finally {
    await rig.close()
  }
}

function rowOf(name: string, { loop, answersMs }: Stretch): string[] {
  return [
    name,
    ...[loop.cpu.p99, loop.cpu.max, loop.late.p99, loop.late.max].map(value => value.toFixed(2)),
    ...[50, 99, 100].map(p => percentile(answersMs, p).toFixed(2)),
    String(answersMs.length),
  ]
}

/** Looks at a receiver while `work` runs. */
async function watch(rig: ReceiverRig, work: () => Promise<unknown>): Promise<Stretch> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const answersMs: number[] = []
  let running = true
  const asking = async (): Promise<void> => {
    while (running) {
      const startedAt = performance.now()
      await new Promise<void>((resolve, reject) => {
        get(`${rig.urls.rest}/healthz`, { agent }, answer => answer.resume().on('end', resolve)).on('error', reject)
      })
      answersMs.push(performance.now() - startedAt)
    }
  }
  await loopDelay(rig)
  const asked = asking()
  await work()
  running = false
  await asked
  agent.destroy()
  return { loop: await loopDelay(rig), answersMs }
}

/** How late the loop was since this was asked last. */
async function loopDelay(rig: ReceiverRig): Promise<LoopDelay> {
  const answer = once(rig.process, 'message') as Promise<[LoopDelay]>
  rig.process.send('loop-delay' satisfies LoopDelay['type'])
  return (await answer)[0]
}

function send(rig: ReceiverRig, bytes: Uint8Array): Promise<number> {
  const headers = {
    'x-org-id': rig.organization,
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': bytes.length,
  }
  return new Promise(resolve => {
    const req = request(`${rig.urls.rest}/api/v1/capture-session`, { method: 'POST', headers }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
    req.on('error', () => resolve(0))
    req.end(bytes)
  })
}
