// Does the receiver keep its size? Events at full rate for minutes; its resident size, sampled, by the minute. The streams are purged
// all the time, because nobody reads them.
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { eventLoad } from '../bodies.ts'
import { UNIQUE_LUA } from '../contest.ts'
import { residentBytes } from '../process.ts'
import type { ReceiverRig } from '../receiver.ts'
import { startReceiverRig } from '../receiver.ts'
import { median, table } from '../stats.ts'
import { writeTemplates } from '../templates.ts'
import { wrk } from '../wrk.ts'

const SESSIONS = 256
const EVENT_BYTES = 1024
const SAMPLE_MS = 2_000
const MiB = 1024 * 1024

/** One look at the sizes, in bytes. */
interface Sample {
  readonly seconds: number
  readonly receiver: number
  readonly nats: number
}

/** Runs the case and prints a row a minute. */
export async function ingestMemory(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '20' },
      connections: { type: 'string', default: '512' },
    },
  })
  const minutes = Number(values.minutes)
  const rig = await startReceiverRig()
  try {
    const templates = join(rig.dir, 'templates')
    await writeTemplates(templates, eventLoad(EVENT_BYTES, await rig.createSessions(SESSIONS)), rig.organization)
    const sampling = startSampling(rig)
    const load = { url: rig.urls.rest, script: UNIQUE_LUA, args: [templates, '0'] }
    const result = await wrk({ ...load, connections: Number(values.connections), seconds: Math.round(minutes * 60) })
    const failed = result.refused + result.broken
    console.log(
      `\n${Math.round(result.requestsPerSecond)} requests/s over ${values.connections} connections, ${failed} failed\n`,
    )
    console.log(reportOf(await sampling.stop(), minutes))
  } finally {
    await rig.close()
  }
}

function startSampling(rig: ReceiverRig): { stop(): Promise<Sample[]> } {
  const samples: Sample[] = []
  const startedAt = performance.now()
  let running = true
  const done = (async () => {
    while (running) {
      const [receiver, nats] = await Promise.all([residentBytes(rig.pid), residentBytes(rig.nats.pid)])
      samples.push({ seconds: (performance.now() - startedAt) / 1000, receiver, nats })
      await rig.purge()
      await delay(SAMPLE_MS)
    }
  })()
  // A receiver that has ended shows when the samples are asked for.
  done.catch(() => {})
  return {
    stop: async () => {
      running = false
      await done
      return samples
    },
  }
}

function reportOf(samples: readonly Sample[], minutes: number): string {
  const rows: (string | number)[][] = []
  for (let minute = 0; minute < minutes; minute++) {
    const within = samples.filter(({ seconds }) => seconds >= minute * 60 && seconds < (minute + 1) * 60)
    const receiver = within.map(sample => sample.receiver / MiB)
    const nats = within.map(sample => sample.nats / MiB)
    const figures = [median(receiver), Math.min(...receiver), Math.max(...receiver), median(nats)]
    rows.push([minute + 1, ...figures.map(Math.round)])
  }
  // "After the first minutes": the code is compiled, the buffers have grown to what the rate needs.
  const settled = Math.min(3, Math.floor(minutes / 2))
  const medians = rows.slice(settled).map(row => row[1] as number)
  const middle = median(medians)
  const spread = Math.max(...medians.map(value => Math.abs(value - middle))) / middle
  return [
    table(['minute', 'receiver, MiB (median)', 'least', 'most', 'NATS, MiB (median)'], rows),
    `\nFrom minute ${settled + 1} on: ${Math.round(middle)} MiB, the medians of the minutes within ± ${(spread * 100).toFixed(1)} %.`,
  ].join('\n')
}
