// Test files that run in one process, one after the other: paths come in as arguments, what each of them says goes out as a subtest of
// its name, with its counts and what it cost behind it. Starting, loading and compiling is paid once for all of them.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { cpuSecondsOf } from './cpu.ts'

const ROOT = join(import.meta.dirname, '..')

/** What a file finds as the test of its process when it imports tap (see stripped.mjs): one of its own. */
const tests = new Map<string, Test>()
Object.assign(globalThis, { [Symbol.for('parley.tests')]: tests })

// Files read arguments of their own when they are run by hand.
const files = process.argv.splice(2)
let spent = 0
for (const file of files) {
  const { href } = pathToFileURL(join(ROOT, file))
  await t.test(file, async own => {
    tests.set(href, own)
    await import(href)
  })
  const { total = 0, pass = 0 } = tests.get(href)?.counts ?? {}
  const { own = 0, children = 0 } = cpuSecondsOf('/proc/self/stat') ?? {}
  t.comment(`together ${JSON.stringify({ file, total, passed: pass, cpu: own + children - spent })}`)
  spent = own + children
}
