// What a test process came to, by what tap really says: of points that fail, of a test that never ends, of a file that ends early.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { judged } from './judged.ts'

/** Runs a program that knows tap as `t`. */
async function judgedRun(program: string): Promise<ReturnType<typeof judged>> {
  const source = `const { default: t } = await import('tap')\n${program}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const output = await text(child.stdout)
  const [code] = (await ended) as [number | null]
  return judged(code, output)
}

t.test('what passes', async t => {
  t.strictSame(await judgedRun(`t.test('passes', async t => t.ok(true))`), { failed: false, total: 1, passed: 1 })
})

t.test('what fails', async t => {
  t.strictSame(await judgedRun(`t.ok(true)\nt.ok(false)`), { failed: true, total: 2, passed: 1 })
})

t.test('a test that waits for what never comes, when nothing is left to wait for', async t => {
  const { failed } = await judgedRun(
    `t.test('passes', async t => t.ok(true))\nt.test('never ends', () => new Promise(() => {}))`,
  )
  t.ok(failed)
})

t.test('a process that ends before tap has said what it came to', async t => {
  t.strictSame(judged(0, 'TAP version 14\n'), { failed: true, total: 1, passed: 0 })
  t.strictSame(judged(null, '# { total: 3, pass: 3 }\n'), { failed: true, total: 3, passed: 3 })
  t.strictSame(judged(0, '# { total: 13, pass: 12, fail: 1 }\n'), { failed: true, total: 13, passed: 12 })
})
