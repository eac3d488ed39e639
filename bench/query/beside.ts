// A steady load of events from a thread of its own: answers are timed by the main thread, which would otherwise be busy sending.
import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { startLoad, type Target } from '../load.ts'

/** Where events go, how many a second, and how many each session has. */
interface Beside {
  readonly target: Target
  readonly perSecond: number
  readonly eventsEach: number
}

/** What was taken. */
export type Taken = Awaited<ReturnType<Awaited<ReturnType<typeof startLoad>>['stop']>>

/** Starts the load; `stop` ends it and tells what was taken. @throws when the thread ends by itself. */
export async function startLoadBeside(beside: Beside): Promise<{ stop(): Promise<Taken> }> {
  const thread = new Worker(new URL(import.meta.url), { workerData: beside })
  await once(thread, 'message')
  return {
    async stop() {
      const told = once(thread, 'message') as Promise<[Taken]>
      thread.postMessage('stop')
      const [taken] = await told
      await thread.terminate()
      return taken
    },
  }
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const { target, perSecond, eventsEach } = workerData as Beside
  const load = await startLoad(target, perSecond, eventsEach)
  port.once('message', () => void load.stop().then(taken => port.postMessage(taken)))
  port.postMessage('started')
}
