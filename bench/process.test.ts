// The meter against what a process says of itself: it works in its main thread, in a thread that stays, and in one that ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { cpuMeter } from './process.ts'

/** Each message is worked through for so many milliseconds of CPU, in a thread or not; the answer is all CPU until then. */
const CHILD = `
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
const burn = ms => { const from = process.threadCpuUsage(); while (process.threadCpuUsage(from).user < ms * 1000); }
const source = \`import { parentPort } from 'node:worker_threads'; const burn = \${burn}
parentPort.on('message', ms => { burn(ms); parentPort.postMessage('done') })\`
const staying = new Worker(source, { eval: true })
const ask = async (worker, ms) => { const heard = once(worker, 'message'); worker.postMessage(ms); await heard }
await ask(staying, 1)
const work = {
  main: burn,
  staying: ms => ask(staying, ms),
  ending: async ms => { const ending = new Worker(source, { eval: true }); await ask(ending, ms); await ending.terminate() },
}
const total = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6 }
process.on('message', async ({ where, ms }) => { await work[where](ms); process.send(total()) })
process.send(total())
`

/**
 * Well below what each of them works: of what has ended two ticks and the rests of two others are unsure, and what the process does between
 * telling its total and being looked at is in one of the two figures only.
 */
const UNSURE_S = 0.06

t.test('a meter says what a process has used, wherever in it that was', async t => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', CHILD], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const heard = async (): Promise<number> => Number((await once(child, 'message'))[0])
  let before = await heard()
  for (const where of ['main', 'staying', 'ending']) {
    const used = await cpuMeter(child.pid as number)
    const answer = heard()
    child.send({ where, ms: 120 })
    const total = await answer
    const seconds = await used()
    const own = total - before
    t.ok(Math.abs(seconds - own) < UNSURE_S, `${where}: ${seconds} of ${own} s`)
    before = total
  }
})
