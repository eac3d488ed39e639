// Watches the free space of the data directory's file system and says in the control bucket when it runs low: first scheduled work that
// can wait is left undone, then receivers refuse new payloads (503, send again later), long before an engine meets a full disk.
import { statfs } from 'node:fs/promises'
import type { Guard } from '#control/records.ts'

/** Space has to come back by this much before the guard opens again, so that it does not flutter. */
const REOPEN_PERCENT = 2

/** A guard at work. */
export interface DiskGuard {
  /** Measures and, when the state changed, publishes. Called every few seconds; what fails is tried again next time. */
  look(): Promise<void>
  stop(): void
}

/** What `startDiskGuard` needs. */
export interface DiskGuardOptions {
  /** Any path of the file system. */
  readonly path: string
  /** Closed below this share of free space; 0 never closes. */
  readonly minFreePercent: number
  /** Warned of, and work that can wait is left undone, below this; counts only above `minFreePercent`. */
  readonly lowPercent?: number
  readonly publish: (guard: Guard) => Promise<void>
  readonly say: (line: string) => void
  readonly everyMs?: number
  /** Free and whole size, in any unit. */
  readonly measure?: (path: string) => Promise<{ readonly free: number; readonly size: number }>
}

/** Begins to watch. The first look publishes whatever it finds: an earlier run may have left the guard closed. */
export function startDiskGuard(options: DiskGuardOptions): DiskGuard {
  const { path, minFreePercent, lowPercent = 0, publish, say, measure = freeOf } = options
  let published: Guard['disk'] | undefined
  let looking: Promise<void> | undefined
  const lookOnce = async (): Promise<void> => {
    const { free, size } = await measure(path)
    const percent = (free / size) * 100
    const isBelow = (bound: number, already: boolean): boolean =>
      minFreePercent > 0 && percent < bound + (already ? REOPEN_PERCENT : 0)
    const isShort = published === 'full' || published === 'low'
    const disk = isBelow(minFreePercent, published === 'full') ? 'full' : isBelow(lowPercent, isShort) ? 'low' : 'ok'
    if (disk === published) return
    await publish({ disk, free_percent: Math.floor(percent * 10) / 10, at: new Date().toISOString() })
    if (disk === 'full')
      say(`disk: ${Math.floor(percent)} % free is too little; new payloads are refused until there is more`)
    else {
      if (published === 'full') say('disk: there is room again; payloads are taken')
      if (disk === 'low')
        say(`disk: ${Math.floor(percent)} % free is little; below ${minFreePercent} % new payloads are refused`)
      else if (published === 'low') say('disk: there is enough room again')
    }
    published = disk
  }
  const look = (): Promise<void> => {
    looking ??= lookOnce()
      .catch(() => {})
      .finally(() => {
        looking = undefined
      })
    return looking
  }
  const timer = setInterval(() => void look(), options.everyMs ?? 5_000)
  timer.unref()
  void look()
  return { look, stop: () => clearInterval(timer) }
}

async function freeOf(path: string): Promise<{ free: number; size: number }> {
  const { bavail, blocks } = await statfs(path)
  return { free: bavail, size: blocks }
}
