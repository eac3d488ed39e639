// A process whose log nobody reads any more ends all the same; what it wrote last before its end is there.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'

const LOGS = `
  import { createLog } from '#runtime/log.ts'
  const log = createLog({ part: 'receiver', level: 'info' })
  process.stdin.once('data', () => {
    log.info('the last but one')
    log.info('the last')
    process.exit(3)
  })
  process.stderr.write('waiting')
`

t.test('a reader that is gone does not keep a process from ending', async t => {
  for (let round = 0; round < 3; round++) {
    const child = logging(t)
    await once(child.stderr, 'data')
    child.stdout.destroy()
    await once(child.stdout, 'close')
    child.stdin.write('\n')
    const [code] = await once(child, 'exit')
    t.equal(code, 3)
  }
})

t.test('the last lines before an exit are read', async t => {
  const child = logging(t)
  let read = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    read += text
  })
  await once(child.stderr, 'data')
  child.stdin.write('\n')
  await once(child, 'close')
  const messages = read
    .trim()
    .split('\n')
    .map(line => (JSON.parse(line) as { msg: string }).msg)
  t.strictSame(messages, ['the last but one', 'the last'])
})

function logging(t: Test) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', LOGS], { stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}
