// The system calls by which one INSERT becomes a part on disk, from a trace of a real one; and how to kill the engine exactly before
// each of them. While it is written, a part's folder is named by a counter that begins at 1 with the engine, so the paths of the
// next insert are known before it begins.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '#store/client.ts'
import type { Call, TraceOptions } from './strace.ts'

/** Everything that creates, renames, links, removes, writes, cuts or syncs a file; and what sends an answer. */
export const CHANGING_CALLS = [
  ...['open', 'openat', 'creat', 'mkdir', 'mkdirat', 'rename', 'renameat', 'renameat2', 'link', 'linkat', 'symlink'],
  ...['unlink', 'unlinkat', 'rmdir', 'write', 'writev', 'pwrite64', 'pwritev', 'ftruncate', 'fallocate'],
  ...['fsync', 'fdatasync', 'sync_file_range', 'copy_file_range', 'sendto', 'sendmsg'],
] as const

/** Numbers that the next insert may have: each insert into the table since the engine's start has used one. */
const NUMBERS_MAX = 16

/** A system call of one insert: the n-th of this name on this file (of its thread). */
export interface EnginePoint {
  readonly table: string
  readonly call: string
  /** Path in the part's folder; PART, LOG or ANSWER for what is none. */
  readonly file: string
  readonly nth: number
}

/** The folder itself; the table's deduplication log; the file in which the HTTP answer waits; the answer. */
export const PART = '(part)'
export const LOG = '(deduplication log)'
export const WAITING = '(waiting answer)'
export const ANSWER = '(answer)'

/** Which part of the work a point belongs to, for tables. */
export function stageOf({ file, call }: EnginePoint): string {
  if (file === LOG) return 'deduplication log'
  if (file === ANSWER || file === WAITING) return 'answer'
  if (file === PART && call.startsWith('rename')) return 'rename into place'
  return 'part'
}

/** Readable name. */
export function nameOf({ table, call, file, nth }: EnginePoint): string {
  return `${table} ${call} ${file}${nth > 1 ? ` (${nth})` : ''}`
}

/** Where a table keeps its parts, and the partition that is watched (the newest month). */
export interface Place {
  readonly table: string
  readonly folder: string
  readonly partition: string
}

/** The places of the three tables for inserts of this month. */
export async function placesOf(store: Store, nowMs: number): Promise<Place[]> {
  const tables = await store.read<{ name: string; folder: string }>(
    `SELECT name, data_paths[1] AS folder FROM system.tables
     WHERE database = {database:String} AND name IN ('sessions', 'texts', 'events') ORDER BY name`,
    { parameters: { database: store.database } },
  )
  const month = new Date(nowMs).toISOString().slice(0, 7).replace('-', '')
  return tables.map(({ name, folder }) => ({
    table: name,
    folder,
    partition: name === 'sessions' ? '0' : `0-${month}`,
  }))
}

/**
 * The points of a trace of one load, in the order of their time. Left out: the creation of the file in which an answer waits, whose
 * name is random; it changes nothing that stands between the request and the first folder.
 */
export function pointsOf(calls: readonly Call[], places: readonly Place[]): EnginePoint[] {
  const points: EnginePoint[] = []
  const counts = new Map<string, number>()
  const count = (key: string): number => {
    const n = (counts.get(key) ?? 0) + 1
    counts.set(key, n)
    return n
  }
  let lastTable = ''
  for (const { thread, name, args } of calls) {
    const answering = name.startsWith('send') ? ANSWER : name === 'unlink' ? WAITING : undefined
    if (answering) {
      // Their paths are random or none, but only threads that answer make these calls: counted by thread, over all it answers.
      const nth = count(`${thread} ${name}`)
      if (points.some(point => point.call === name && point.nth === nth)) continue
      points.push({ table: lastTable, call: name, file: answering, nth })
      continue
    }
    const place = places.find(({ folder }) => args.includes(folder))
    if (!place) continue
    if (name.startsWith('rename')) lastTable = place.table
    const file = fileOf(args, place)
    if (file === undefined) continue
    const nth = count(`${place.table} ${name} ${file}`)
    if (name.startsWith('open') && !args.includes('O_CREAT')) continue
    // Two months write one log, each by a thread of its own: the first of either is the point.
    if (file === LOG && nth > 1) continue
    points.push({ table: place.table, call: name, file, nth })
  }
  return points
}

function fileOf(args: string, { folder, partition }: Place): string | undefined {
  const rest = args.slice(args.indexOf(folder) + folder.length)
  if (rest.startsWith('deduplication_logs/')) return LOG
  const part = /^tmp_insert_(\S+?)_\d+_\d+_0(?:\/([^">]*))?[">]/.exec(rest)
  if (!part || part[1] !== partition) return undefined
  return part[2] ? part[2] : PART
}

/** How to kill the engine at a point of the next insert. */
export async function aimAt(
  point: EnginePoint,
  places: readonly Place[],
): Promise<Pick<TraceOptions, 'calls' | 'killAt' | 'paths'>> {
  const shot = { calls: [point.call], killAt: point.nth }
  if (point.file === ANSWER || point.file === WAITING) return shot
  const place = places.find(({ table }) => table === point.table)
  if (!place) throw new Error(`no table ${point.table}`)
  if (point.file === LOG) {
    const folder = join(place.folder, 'deduplication_logs')
    return { ...shot, paths: (await readdir(folder)).map(name => join(folder, name)) }
  }
  const numbers = Array.from({ length: NUMBERS_MAX }, (_, i) => i + 1)
  const parts = numbers.map(n => join(place.folder, `tmp_insert_${place.partition}_${n}_${n}_0`))
  if (point.file !== PART) return { ...shot, paths: parts.map(part => join(part, point.file)) }
  // Folders are named with and without a slash at the end, by different calls.
  return { ...shot, paths: parts.flatMap(part => [part, `${part}/`]) }
}
