// parley dead list|show|replay|drop: payloads that became no rows, why, and what to do with them.
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import type { NatsConnection } from '@nats-io/transport-node'
import { FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { errors } from '#proto/errors.ts'
import { isUuid } from '#proto/ids.ts'
import type { StoredLetter } from '#streams/dead-letters.ts'
import { dropLetter, getLetter, listLetters, replayLetter } from '#streams/dead-letters.ts'
import { openNats } from './instance.ts'
import { DEAD_USAGE, UsageError } from './usage.ts'

const LIST_LIMIT = 50
const CODES = Object.keys(errors).filter(code => code.startsWith('DEAD_'))
const ALL = 1_000_000

/** Runs one `dead` command; returns the exit code. */
export async function dead(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      code: { type: 'string' },
      org: { type: 'string' },
      limit: { type: 'string' },
      raw: { type: 'boolean' },
      all: { type: 'boolean' },
    },
  })
  const [command, ...ids] = positionals
  const filter = {
    ...(values.code === undefined ? {} : { code: values.code }),
    ...(values.org === undefined ? {} : { organization: values.org }),
  }
  if (!['list', 'show', 'replay', 'drop'].includes(command ?? '') || (command === 'list' && ids.length > 0))
    throw new UsageError(DEAD_USAGE)
  if (filter.code !== undefined && !CODES.includes(filter.code))
    throw new UsageError(`--code must be one of ${CODES.join(', ')}`)
  if (filter.organization !== undefined && !isUuid(filter.organization)) throw new UsageError('--org must be a uuid')
  // `drop 7 --all` may mean either, and drops for good.
  if (values.all && ids.length > 0) throw new UsageError('name letters by id, or all of them by --all, not both')
  const nc = await openNats()
  try {
    if (command === 'list')
      return list(await listLetters(nc, filter, whole(values.limit ?? String(LIST_LIMIT), '--limit')))
    if (command === 'show') return await show(nc, ids, values.raw ?? false)
    if (ids.length === 0 && !values.all)
      throw new UsageError(`name letters by id, or all of them by --all\n\n${DEAD_USAGE}`)
    const letters = values.all ? await listLetters(nc, filter, ALL) : await byIds(nc, ids)
    return command === 'drop' ? await drop(nc, letters) : await replay(nc, letters)
  } finally {
    await nc.close()
  }
}

function list(letters: readonly StoredLetter[]): number {
  if (letters.length === 0) console.log('no dead letters')
  for (const letter of letters) {
    const position = `${letter.partition}-${letter.sequence}${isWhole(letter) ? '' : `-${letter.frame}`}`
    const from = isWhole(letter) ? 'a whole message' : `${kindName(letter.kind)} of ${letter.organization || 'unknown'}`
    const what = `${from}, ${letter.bytes.length} bytes, at ${position}`
    console.log(
      `${String(letter.id).padStart(6)}  ${letter.diedAt.slice(0, 19)}Z  ${letter.code}  ${what}\n        ${letter.reason}`,
    )
  }
  return 0
}

async function show(nc: NatsConnection, ids: readonly string[], raw: boolean): Promise<number> {
  if (ids.length !== 1) throw new UsageError(DEAD_USAGE)
  const [letter] = await byIds(nc, ids)
  if (!letter) return 1
  if (raw) {
    process.stdout.write(letter.bytes)
    return 0
  }
  console.log(`id            ${letter.id}`)
  console.log(`died at       ${letter.diedAt}`)
  // Of a message that could not be opened nobody knows when it was received, and for whom.
  if (!isWhole(letter)) console.log(`received at   ${new Date(letter.receivedAtMs).toISOString()}`)
  console.log(`code          ${letter.code}`)
  console.log(`reason        ${letter.reason}`)
  if (!isWhole(letter)) console.log(`organization  ${letter.organization}`)
  console.log(`kind          ${isWhole(letter) ? 'a whole message' : kindName(letter.kind)}`)
  const frame = isWhole(letter) ? '' : `, frame ${letter.frame}`
  console.log(`position      partition ${letter.partition}, sequence ${letter.sequence}${frame}`)
  console.log(`payload       ${letter.bytes.length} bytes${letter.cut === null ? '' : ` of ${letter.cut}`}\n`)
  console.log(readable(letter))
  return 0
}

async function drop(nc: NatsConnection, letters: readonly StoredLetter[]): Promise<number> {
  for (const letter of letters) await dropLetter(nc, letter.id)
  console.log(`dropped ${letters.length}`)
  return 0
}

async function replay(nc: NatsConnection, letters: readonly StoredLetter[]): Promise<number> {
  let sent = 0
  for (const letter of letters) {
    const refusal = await replayLetter(nc, letter)
    if (refusal === null) sent++
    else
      console.error(
        `${letter.id} cannot be sent again: ${refusal === 'cut' ? 'its payload was cut' : 'it is a whole message'}`,
      )
  }
  console.log(`sent again ${sent}`)
  return sent === letters.length ? 0 : 1
}

async function byIds(nc: NatsConnection, ids: readonly string[]): Promise<StoredLetter[]> {
  const letters: StoredLetter[] = []
  for (const id of ids) {
    const letter = await getLetter(nc, whole(id, 'a letter id'))
    if (!letter) throw new UsageError(`there is no dead letter ${id}`)
    letters.push(letter)
  }
  return letters
}

function whole(text: string, what: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`${what} must be a whole number from 1 on, not "${text}"`)
  return value
}

function isWhole({ frame }: StoredLetter): boolean {
  return frame < 0
}

function kindName(kind: number): string {
  return Object.entries(FrameKind).find(([, value]) => value === kind)?.[0] ?? `kind ${kind}`
}

/** JSON as text; protobuf and other bytes as a hex dump of the beginning. */
function readable(letter: StoredLetter): string {
  const zipped = letter.encoding === FrameEncoding.jsonGzip || letter.encoding === FrameEncoding.protobufGzip
  let bytes = Buffer.from(letter.bytes)
  if (zipped) {
    try {
      bytes = gunzipSync(bytes)
    } catch {
      // A broken archive may be why it is here: shown as it is.
    }
  }
  if (letter.encoding === FrameEncoding.json || letter.encoding === FrameEncoding.jsonGzip) return bytes.toString()
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, 1024); at += 16) {
    const row = bytes.subarray(at, at + 16)
    const text = row.toString('latin1').replaceAll(/[^\x20-\x7e]/g, '.')
    lines.push(
      `${at.toString(16).padStart(6, '0')}  ${row.toString('hex').replaceAll(/(..)/g, '$1 ').padEnd(48)} ${text}`,
    )
  }
  return lines.join('\n')
}
