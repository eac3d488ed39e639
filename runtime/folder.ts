// A path -> the folder, with all that lies above it.
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and what is missing above it; one that exists stays as it is. Step by step: Node's own `recursive` never ends where a
 * parent is there and takes no folders (below /proc, Node 22).
 * @throws what the system says of the first that cannot be made.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  if (await isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) await makeFolder(parent, mode)
  try {
    await mkdir(path, { mode })
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(await isFolder(path))) throw error
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
