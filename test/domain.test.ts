import { spawnSync } from 'node:child_process'
import t from 'tap'
import { nodeEnv } from './rig.ts'

/** Runs a program that knows `domain(name)`, which says what it is told; errors that nobody is told of end it. */
function run(program: string): { status: number | null; said: string[]; error: string } {
  const begin = `
    import { AsyncResource } from 'node:async_hooks'
    import { Domain } from ${JSON.stringify(new URL('./domain.ts', import.meta.url).href)}
    const domain = name => new Domain((error, origin) => console.log(name, error.message, origin))
    const later = message => new Promise(done => setTimeout(() => { setImmediate(done); throw new Error(message) }, 1))\n`
  const args = ['--input-type=module', '--eval', begin + program]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: nodeEnv })
  return { status, said: stdout.split('\n').filter(Boolean), error: stderr }
}

t.test(
  'what nobody caught is told to the test that it comes from, or to the one around it that has not ended',
  async t => {
    const { status, said, error } = run(`
    const file = domain('file')
    // Tests are made before their turn, each in a scope of its own.
    const scopes = ['first', 'second'].map(name => {
      const scope = new AsyncResource('test')
      return { scope, test: scope.runInAsyncScope(domain, null, name) }
    })
    const [first, second] = scopes
    await later('one')
    await first.scope.runInAsyncScope(later, null, 'two')
    await second.scope.runInAsyncScope(later, null, 'three')
    first.test.destroy()
    first.test.destroy()
    await first.scope.runInAsyncScope(later, null, 'four')
    second.scope.runInAsyncScope(() => void Promise.reject(new Error('five')))
    await new Promise(setImmediate)
    file.destroy()
    await second.scope.runInAsyncScope(later, null, 'six')
    second.test.destroy()`)
    t.equal(status, 0, error)
    t.strictSame(said, [
      'file one uncaughtException',
      'first two uncaughtException',
      'second three uncaughtException',
      'file four uncaughtException',
      'second five unhandledRejection',
      'second six uncaughtException',
    ])
  },
)

t.test('without a test it ends the process, and whoever listens himself is left alone', async t => {
  const ended = run(`domain('ended').destroy(); await later('nobody')`)
  t.equal(ended.status, 1)
  t.match(ended.error, /Error: nobody/)
  t.strictSame(ended.said, [])
  const { status, said } = run(`
    const file = domain('file')
    process.on('uncaughtException', error => console.log('own', error.message))
    await later('mine')
    file.destroy()`)
  t.equal(status, 0)
  t.strictSame(said, ['own mine'])
})
