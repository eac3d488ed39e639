// Small file systems of a run's own, so that a disk can be filled without anybody else noticing. Needs the right to mount.
import { execFile } from 'node:child_process'
import { mkdir, open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const MiB = 1024 * 1024
const BALLAST = 'ballast'

/** A mounted folder that can be filled. */
export interface Disk {
  readonly path: string
  /** Share of it that is free, in percent. */
  free(): Promise<{ free: number; size: number }>
  /** Fills it up to `keepBytes`, or to a share of what it holds. */
  fill(keep: { percent: number } | { bytes: number }): Promise<void>
  /** Takes the ballast away. */
  empty(): Promise<void>
  unmount(): Promise<void>
}

/** A folder in memory of `mb` MiB; a sentence that says why when that may not be made here. */
export async function mountDisk(path: string, mb: number): Promise<Disk | string> {
  await mkdir(path, { recursive: true })
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mb}m,mode=0700`, 'parley-storm', path])
  } catch (error) {
    return `no file system can be mounted here (${String((error as { stderr?: string }).stderr ?? error).trim()})`
  }
  const free = async (): Promise<{ free: number; size: number }> => {
    const { bavail, blocks, bsize } = await statfs(path)
    return { free: bavail * bsize, size: blocks * bsize }
  }
  const ballast = join(path, BALLAST)
  return {
    path,
    free,
    fill: async keep => {
      const { free: now, size } = await free()
      const rest = 'bytes' in keep ? keep.bytes : Math.ceil((size * keep.percent) / 100)
      const file = await open(ballast, 'a')
      try {
        const block = Buffer.alloc(MiB)
        for (let left = now - rest; left > 0; left -= block.length) {
          await file.write(block, 0, Math.min(left, block.length))
        }
      } catch (error) {
        // Whoever writes beside it had the last block.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        await file.close()
      }
    },
    empty: () => rm(ballast, { force: true }),
    unmount: async () => {
      await run('umount', ['-l', path]).catch(() => {})
    },
  }
}
