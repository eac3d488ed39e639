// Where the files of tests are while `npm test` runs: in memory, when the machine has room, else wherever temporary
// files are. Engines cost half on it: 17 instead of 31 CPU seconds of ClickHouse for processors/replace.test.ts, whose parts are many
// and small. A TMPDIR that is given stays.
import { mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { freemem, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const GiB = 1024 ** 3
/** A whole run uses less than a tenth of it. */
const ROOM_BYTES = 6 * GiB
/** Left by a run that was ended by force. */
const LEFT_MS = 86_400_000

if (process.env.TMPDIR === undefined && hasRoom()) {
  const dir = join(MEMORY, `parley-test-${userInfo().uid}`)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(dir)) {
    const path = join(dir, name)
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > LEFT_MS) rmSync(path, { recursive: true, force: true })
  }
  process.env.TMPDIR = dir
}

/** The folder in use. */
export const temporaryFolder: string = tmpdir()

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM_BYTES && freemem() > ROOM_BYTES
  } catch {
    return false
  }
}
