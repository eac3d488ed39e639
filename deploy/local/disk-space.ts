// Room for the embedded ClickHouse: how much of a disk it leaves alone, and a watch that says so before there is none.
import { statfsSync } from 'node:fs'

const MiB = 1024 * 1024
/** Left alone at most; of small disks a twentieth. */
const KEEP_BYTES = 512 * MiB
const KEEP_SHARE = 1 / 20
/** No disk is filled faster than this, in bytes a millisecond: so long the next look can wait. */
const FILL_RATE = 4 * 1024 * MiB * 0.001
const LOOK_MS = { least: 5, most: 2_000 }

/** Free and whole size of a file system, in bytes. */
export function spaceOf(path: string): { readonly free: number; readonly size: number } {
  const { bavail, blocks, bsize } = statfsSync(path)
  return { free: bavail * bsize, size: blocks * bsize }
}

/**
 * What an engine leaves free of a disk of `size` bytes. Below `keepBytes` it refuses whatever would write (NOT_ENOUGH_SPACE, before the first
 * byte); below `stopBytes` somebody else is filling the disk and the engine must not run: this engine takes a failed write for written.
 */
export function roomOf(size: number): { readonly keepBytes: number; readonly stopBytes: number } {
  const keepBytes = Math.floor(Math.min(KEEP_BYTES, size * KEEP_SHARE))
  return { keepBytes, stopBytes: Math.floor(keepBytes / 2) }
}

/** What `watchSpace` needs. */
export interface SpaceOptions {
  readonly path: string
  readonly leastBytes: number
  readonly measure?: typeof spaceOf
  /** Called once, when less is free. */
  readonly onShort: (free: number) => void
}

/** Looks at the free space for as long as the process lives, the more often the less there is. */
export function watchSpace({ path, leastBytes, measure = spaceOf, onShort }: SpaceOptions): void {
  const look = (): void => {
    const { free } = measure(path)
    if (free < leastBytes) return onShort(free)
    const ms = (free - leastBytes) / FILL_RATE
    setTimeout(look, Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, ms))).unref()
  }
  look()
}
