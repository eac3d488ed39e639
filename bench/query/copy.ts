// The folder of an engine that has ended -> another one that begins with the same: a bench leaves the store that it was given as it was.
import { copyFile, link, mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Contents of parts, which the engine writes once: its own freezes and mutations link them, too. All else may be written again. */
const WRITTEN_ONCE = /\.(bin|c?mrk\d*|c?idx\d*|dat|pst|packed)$/

/** Makes `to` begin with what `from` holds; what was in `to` is gone. Precondition: both on one file system, and nobody writes to them. */
export async function copyStore(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await copyFolder(from, to)
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyFolder(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (WRITTEN_ONCE.test(entry.name)) await link(source, target)
    // Sockets and locks of an engine that was killed are nothing to begin with.
    else if (entry.isFile()) await copyFile(source, target)
  }
}
