// The preload in a small project of its own: what is kept is run, and only as long as it is what would be stripped now.
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { tempDir } from '#test/rig.ts'

const PRELOAD = fileURLToPath(new URL('./stripped.mjs', import.meta.url))
/** Says a word, and lets a thread with an environment of its own say it too. */
const MODULE = `import { isMainThread, Worker } from 'node:worker_threads'
const word: string = 'WORD'
console.log(word)
if (isMainThread) new Worker(new URL(import.meta.url), { env: {} })
`

const dir = await tempDir(t)
const kept = join(dir, 'node_modules/.parley-stripped/part/main.ts')
await mkdir(join(dir, 'runtime'))
await mkdir(join(dir, 'part'))
await copyFile(PRELOAD, join(dir, 'runtime/stripped.mjs'))
await writeFile(join(dir, 'package.json'), '{ "type": "module" }')
const write = (word: string): Promise<void> => writeFile(join(dir, 'part/main.ts'), MODULE.replace('WORD', word))
const run = async (): Promise<string> => {
  const line = ['--import', join(dir, 'runtime/stripped.mjs'), join(dir, 'part/main.ts')]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, line, { env: {} })
  t.equal(stderr, '')
  return stdout
}

t.test('a text is stripped once, for processes and threads', async t => {
  await write('one')
  t.equal(await run(), 'one\none\n')
  t.match(await readFile(kept, 'utf8'), "const word         = 'one'", 'types are blanks: lines and columns stay')
  const { ino } = await stat(kept)
  t.equal(await run(), 'one\none\n')
  t.equal((await stat(kept)).ino, ino, 'it was not kept again')
})

t.test('a text that changed is stripped again, and so is one that was kept by half', async t => {
  await write('two')
  t.equal(await run(), 'two\ntwo\n')
  const whole = await readFile(kept, 'utf8')
  for (const length of [40, whole.length - 10]) {
    await writeFile(kept, whole.slice(0, length))
    t.equal(await run(), 'two\ntwo\n')
    t.equal(await readFile(kept, 'utf8'), whole)
  }
})

t.test('where nothing can be kept it runs all the same', async t => {
  await rm(join(dir, 'node_modules'), { recursive: true })
  await writeFile(join(dir, 'node_modules'), 'no folder')
  t.equal(await run(), 'two\ntwo\n')
})
