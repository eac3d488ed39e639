// What a backup says of itself: its manifest. It is written last, so a folder without one is no backup.

/** Raised when an earlier build could no longer restore what this one writes. */
export const BACKUP_FORMAT = 1
export const MANIFEST_FILE = 'manifest.json'

/** A file of a backup; `path` from its folder. */
export interface BackupFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** A table, and which files hold its rows. */
export interface BackupTable {
  readonly name: string
  readonly rows: number
  /** Sum of a hash of every row. */
  readonly hash: string
  readonly files: readonly string[]
}

/** A stream as the server described it when it was copied. */
export interface BackupStream {
  readonly file: string
  readonly config: Readonly<Record<string, unknown>> & { readonly name: string }
  readonly state: {
    readonly messages: number
    readonly bytes: number
    readonly first_seq: number
    readonly last_seq: number
  }
}

/** The manifest. */
export interface BackupManifest {
  readonly format: number
  /** Of parley. */
  readonly version: string
  /** When everything stood still. */
  readonly at: string
  readonly partitions: number
  /** The last settled position of each partition; what its stream holds behind that is stored after a restore. */
  readonly settled: Readonly<Record<string, number>>
  readonly migrations: readonly string[]
  readonly tables: readonly BackupTable[]
  readonly streams: readonly BackupStream[]
  /** What the launcher of one machine keeps between its starts; absent: no launcher was there. */
  readonly launcher?: string
  readonly files: readonly BackupFile[]
}
