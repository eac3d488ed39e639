// A receiver with one duty after the other, and nothing else: `later` copies the body and answers at the end of the loop's turn, with all
// others that came meanwhile; `stored` publishes the copies as one message and answers when the stream has acknowledged it; `checked`
// also looks at the bytes. What parley's receiver costs beyond them is what there is to save.
// Arguments: the step, address of NATS, subject. Sends its port to the parent.

import type { HttpResponse } from 'uWebSockets.js'
import { App, us_socket_local_port } from 'uWebSockets.js'
import { setFlagsFromString } from 'node:v8'
import { SdkScanner } from '#proto/scan/sdk.ts'
import { createLog } from '#runtime/log.ts'
import { openLine } from '#streams/line.ts'

process.on('disconnect', () => process.exit())
// As the receiver does.
setFlagsFromString('--no-parallel-scavenge')

const [step = '', url = '', subject = ''] = process.argv.slice(2)
const ENVELOPE_BYTES = 512 * 1024
const SPARES = 4

/** A request that is not answered yet. */
interface Waiting {
  readonly res: HttpResponse
  aborted: boolean
}

/** Bodies that travel together. */
interface Batch {
  readonly buffer: Buffer
  length: number
  readonly waiting: Waiting[]
}

const spare: Batch[] = []
const flying = new Map<number, Batch>()
let numbers = 0
let open: Batch | null = null
let leaves = false
/** The answer that is being written. */
let answering: HttpResponse | null = null

const write = (): void => {
  answering?.writeHeader('content-type', 'application/json')
  answering?.end('{"ok":true}')
}

const settle = (batch: Batch): void => {
  for (const { res, aborted } of batch.waiting) {
    if (aborted) continue
    answering = res
    res.cork(write)
  }
  batch.waiting.length = 0
  batch.length = 0
  if (spare.length < SPARES) spare.push(batch)
}

const line =
  step === 'later' ? null : await openLine({ url, name: 'bench', log: createLog({ part: 'bench', level: 'silent' }) })
const flush = (): void => {
  const batch = open
  open = null
  if (batch === null) return
  if (line === null) return settle(batch)
  flying.set(numbers, batch)
  const headers = [['Nats-Msg-Id', `${process.pid}-${numbers}`]] as const
  line.publish({ subject, number: numbers++, headers, bytes: batch.buffer.subarray(0, batch.length) })
}

const leaveSoon = (): void => {
  if (leaves || flying.size > 0 || open === null) return
  leaves = true
  // The turn after this one: those who were answered in this turn are sending again already.
  setImmediate(() =>
    setImmediate(() => {
      leaves = false
      if (flying.size === 0) flush()
    }),
  )
}

line?.listen({
  onAnswer: number => {
    const batch = flying.get(number)
    flying.delete(number)
    leaveSoon()
    if (batch !== undefined) settle(batch)
  },
  onDown: () => process.exit(1),
  onUp: () => {},
})

const take = (waiting: Waiting, bytes: Uint8Array): void => {
  if (open !== null && open.length + bytes.length > ENVELOPE_BYTES) flush()
  open ??= spare.pop() ?? { buffer: Buffer.allocUnsafeSlow(ENVELOPE_BYTES), length: 0, waiting: [] }
  open.buffer.set(bytes, open.length)
  open.length += bytes.length
  open.waiting.push(waiting)
  leaveSoon()
}

const scanner = step === 'checked' ? new SdkScanner('strict') : null
App()
  .post('/*', res => {
    const waiting: Waiting = { res, aborted: false }
    res.onAborted(() => {
      waiting.aborted = true
    })
    let pieces: Uint8Array[] | null = null
    res.onData((chunk, last) => {
      if (!last || pieces !== null) (pieces ??= []).push(Buffer.copyBytesFrom(new Uint8Array(chunk)))
      if (!last || waiting.aborted) return
      const bytes = pieces === null ? new Uint8Array(chunk) : Buffer.concat(pieces)
      if (scanner !== null && !scanner.scanEvent(bytes)) {
        res.cork(() => void res.writeStatus('400 Bad Request').end())
        return
      }
      take(waiting, bytes)
    })
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket) process.send?.(us_socket_local_port(socket))
  })
