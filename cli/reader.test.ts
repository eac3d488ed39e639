// A real pipe whose reader leaves: the command ends well, and says nothing.
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { nodeEnv } from '#test/rig.ts'
import { endWithReader } from './reader.ts'

t.test('a reader that has seen enough ends a command that goes on telling', async t => {
  const module = JSON.stringify(fileURLToPath(new URL('./reader.ts', import.meta.url)))
  const program = `import { endWithReader } from ${module}
    endWithReader(process.stdout, code => process.exit(code))
    setInterval(() => console.log('x'.repeat(100_000)), 1)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env.PATH, ...nodeEnv },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  child.stdout.once('data', () => child.stdout.destroy())
  let told = ''
  child.stderr.on('data', chunk => (told += String(chunk)))
  const [code] = (await once(child, 'close')) as [number | null]
  t.strictSame([code, told], [0, ''])
})

t.test('other errors of the output are errors', async t => {
  const output = new EventEmitter()
  endWithReader(output, () => t.fail('ended'))
  t.throws(() => output.emit('error', Object.assign(new Error('disk'), { code: 'ENOSPC' })), { code: 'ENOSPC' })
})
