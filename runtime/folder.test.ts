// Folders that can be made, and places where none can.
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { tempDir } from '#test/rig.ts'
import { makeFolder } from './folder.ts'

t.test('what is missing is made, for its user alone, and what is there stays', async t => {
  const dir = await tempDir(t)
  const path = join(dir, 'a/b/c')
  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700)])
  t.equal((await stat(path)).mode & 0o777, 0o700)
  t.equal((await stat(join(dir, 'a'))).mode & 0o777, 0o700)
  await makeFolder(path, 0o755)
  t.equal((await stat(path)).mode & 0o777, 0o700)
})

t.test('where none can be made the system says why', async t => {
  const dir = await tempDir(t)
  await writeFile(join(dir, 'file'), '')
  await t.rejects(makeFolder(join(dir, 'file'), 0o700), { code: 'EEXIST' })
  await t.rejects(makeFolder(join(dir, 'file/below'), 0o700), { code: 'EEXIST' })
  // A folder of the kernel: it is there, and nothing can be made in it.
  if (process.platform === 'linux') await t.rejects(makeFolder('/proc/nothing/data', 0o700), { code: 'ENOENT' })
})
