// The folder of a backup: files go in, each with its size and checksum; what comes out is what went in, or an error that names the file.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { BACKUP_FORMAT, type BackupFile, type BackupManifest, MANIFEST_FILE } from '#proto/backup.ts'
import { makeFolder } from '#runtime/folder.ts'
import { UsageError } from '../usage.ts'

/** Rows and keys of everybody: for whoever makes the backup alone. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** A folder that is being filled. */
export interface BackupFolder {
  /** Writes a file of what `source` gives, compressed where the path ends in `.zst`. A file that was written before is replaced. */
  write(path: string, source: Readable): Promise<void>
  /** Writes a file piece by piece. */
  collect<T>(path: string, fill: (write: (chunk: Uint8Array) => Promise<void>) => Promise<T>): Promise<T>
  /** Writes the manifest: the backup is whole. */
  finish(manifest: Omit<BackupManifest, 'files'>): Promise<BackupManifest>
}

/** Makes the folder of a backup. @throws UsageError when it cannot be made, or there is something in it. */
export async function createFolder(path: string): Promise<BackupFolder> {
  await makeFolder(resolve(path), FOLDER_MODE).catch(error => {
    throw new UsageError(`${path} cannot be made: ${String(error)}`)
  })
  if ((await readdir(path)).length > 0) throw new UsageError(`${path} is not empty: a backup takes a folder of its own`)
  const files = new Map<string, BackupFile>()
  const store = async (name: string, source: Readable): Promise<void> => {
    const file = join(path, name)
    await mkdir(dirname(file), { recursive: true, mode: FOLDER_MODE })
    const { watch, seen } = counter()
    // Flushed: the manifest must not be there before what it speaks of.
    const target = createWriteStream(file, { mode: FILE_MODE, flush: true })
    const through = name.endsWith('.zst') ? [source, createZstdCompress(), watch, target] : [source, watch, target]
    await pipeline(through as [Readable, Transform, typeof target])
    files.set(name, { path: name, ...seen() })
  }
  return {
    write: store,
    collect: async (name, fill) => {
      const source = new Transform({ transform: (chunk, _encoding, done) => done(null, chunk) })
      const stored = store(name, source)
      const write = (chunk: Uint8Array): Promise<void> =>
        new Promise((resolve, reject) => source.write(chunk, error => (error ? reject(error) : resolve())))
      try {
        const [value] = await Promise.all([fill(write).then(found => (source.end(), found)), stored])
        return value
      } catch (error) {
        source.destroy()
        await stored.catch(() => {})
        throw error
      }
    },
    finish: async facts => {
      const manifest: BackupManifest = { ...facts, files: [...files.values()] }
      const next = join(path, `${MANIFEST_FILE}.next`)
      await writeFile(next, `${JSON.stringify(manifest, null, 1)}\n`, { mode: FILE_MODE, flush: true })
      await rename(next, join(path, MANIFEST_FILE))
      await flush(path)
      return manifest
    },
  }
}

/** Makes sure that what was renamed in a folder outlives a loss of power. */
async function flush(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Passes bytes on, and knows their number and checksum. */
function counter(): { readonly watch: Transform; readonly seen: () => Pick<BackupFile, 'bytes' | 'sha256'> } {
  const hash = createHash('sha256')
  let bytes = 0
  const watch = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  return { watch, seen: () => ({ bytes, sha256: hash.digest('hex') }) }
}

/** The manifest of a folder. @throws UsageError when there is none, or one that this build cannot read. */
export async function readManifest(path: string): Promise<BackupManifest> {
  const file = join(path, MANIFEST_FILE)
  let manifest: BackupManifest
  try {
    manifest = JSON.parse(await readFile(file, 'utf8')) as BackupManifest
  } catch (cause) {
    const why = cause instanceof SyntaxError ? 'it is damaged' : 'it is missing, so the backup was not finished'
    throw new UsageError(`${file} cannot be read: ${why}`, { cause })
  }
  if (!(manifest.format <= BACKUP_FORMAT)) {
    throw new UsageError(`${path} was made by parley ${manifest.version}, which is newer than this one`)
  }
  return manifest
}

/** Reads every file once. @throws UsageError naming the first that is not what the manifest says. */
export async function checkFiles(path: string, { files }: BackupManifest): Promise<void> {
  for (const file of files) {
    const damaged = (why: string): UsageError => new UsageError(`the backup is damaged: ${file.path} ${why}`)
    const found = await stat(join(path, file.path)).catch(() => undefined)
    if (!found) throw damaged('is missing')
    if (found.size !== file.bytes) throw damaged(`has ${found.size} bytes instead of ${file.bytes}`)
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(join(path, file.path))) hash.update(chunk as Buffer)
    if (hash.digest('hex') !== file.sha256) throw damaged('has another checksum')
  }
}

/** What was written as `name`. */
export function readBack(path: string, name: string): Readable {
  const source = createReadStream(join(path, name), { highWaterMark: 128 * 1024 })
  return name.endsWith('.zst') ? (source.compose(createZstdDecompress()) as Readable) : source
}

/** A stream of one text. */
export const textStream = (text: string): Readable => Readable.from([Buffer.from(text)])

/** What a backup holds, in one line. */
export function describe({ version, at, tables, streams, files }: BackupManifest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const messages = streams.reduce((sum, { state }) => sum + state.messages, 0)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const size = `${(bytes / 2 ** 20).toFixed(1)} MiB in ${files.length} files`
  return `parley ${version} of ${at}: ${rows} rows of ${tables.length} tables, ${messages} messages of ${streams.length} streams, ${size}`
}
