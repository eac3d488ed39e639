// `npm run storm`: starts a system of its own, lets a storm loose on it, prints what became of everything, and ends with 1 when anything
// was lost or counted twice, or a comparison was not equal.
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOptions } from './options.ts'
import { startOrdinary } from './ordinary-target.ts'
import { startParley } from './parley.ts'
import { report } from './report.ts'
import { runStorm } from './storm.ts'

const options = readOptions(process.argv.slice(2))
const print = (text: string): void => void process.stdout.write(`${text}\n`)

const { seed, events, faults, rate, kinds, targets, disks, shards, tag } = options
print(
  `storm: seed ${seed}, ${events} events, ${faults} faults, ${rate} events/s, kinds ${kinds.join() || 'all'}, targets ${targets.join()}${shards > 1 ? `, ${shards} shards` : ''}`,
)
for (const name of targets) {
  const dir = await mkdtemp(join(tmpdir(), 'parley-storm-'))
  const say = (line: string): void => print(`${name}: ${line}`)
  const target = await (name === 'parley' ? startParley : startOrdinary)({ dir, tag, disks, shards, say })
  const end = (): void => void target.stop(options.keep).finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  // What is wrong can be looked at afterwards, and so can what was never at rest.
  let keep = true
  try {
    const { text, verdict } = report(await runStorm(target, options, say))
    print(`\n${text}\n`)
    const { total, failedChecks } = verdict
    const wrong = total.lost + total.doubled + total.strange + failedChecks.length + verdict.rollingFailures
    // What the ordinary design loses is what it is asked for.
    if (wrong > 0 && name === 'parley') process.exitCode = 1
    else keep = options.keep
  } finally {
    await target.stop(keep)
    if (keep) print(`data and logs of ${name} are in ${dir}`)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, end)
  }
}
