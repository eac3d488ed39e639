// Preloaded into a processor (`node --import`): watches its sockets, and ends or stops it by a signal at the step that the test has
// named.
// Nothing else changes: what is sent and read stays as it is.
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import type { ArmedMessage, ArmMessage, Phase, Step, StepMessage, Trap } from './steps.ts'
import { answersIn, publishesIn, statementIn } from './steps.ts'

interface Conversation {
  /** What the last request on this socket asked, how many of its writes have been seen, and whether an answer has begun. */
  what: string | undefined
  writes: number
  answered: boolean
}

class Tripwire {
  #armed: { readonly trap: Trap | null } | undefined
  #counts = new Map<string, number>()
  readonly #conversations = new WeakMap<Socket, Conversation>()

  arm(trap: Trap | null): void {
    this.#counts = new Map()
    this.#armed = { trap }
  }

  /** Things that one write sends. */
  sends(socket: Socket, text: string): string[] {
    if (/^(?:POST|GET) \//.test(text)) {
      const what = statementIn(text)
      this.#conversations.set(socket, { what, writes: 1, answered: false })
      return what === undefined ? [] : [what]
    }
    const conversation = this.#conversations.get(socket)
    if (!conversation) return publishesIn(text)
    // The body of a question may come after its head.
    conversation.what ??= statementIn(text)
    conversation.writes++
    return conversation.what === undefined ? [] : [`${conversation.what}, write ${conversation.writes}`]
  }

  answers(socket: Socket, chunk: Uint8Array): string[] {
    const conversation = this.#conversations.get(socket)
    if (conversation) {
      // An answer comes in as many pieces as the network likes: the first one counts.
      const begins = !conversation.answered
      conversation.answered = true
      return begins && conversation.what !== undefined ? [conversation.what] : []
    }
    return answersIn(Buffer.from(chunk).toString('latin1'))
  }

  pass(phase: Phase, whats: readonly string[]): void {
    if (!this.#armed) return
    for (const what of whats) {
      const key = `${phase} ${what}`
      const nth = (this.#counts.get(key) ?? 0) + 1
      this.#counts.set(key, nth)
      const { trap } = this.#armed
      const sprung = trap?.step.phase === phase && trap.step.what === what && trap.step.nth === nth
      if (trap === null || (sprung && trap.signal === 'SIGSTOP')) tell({ phase, what, nth })
      if (sprung) process.kill(process.pid, trap.signal)
    }
  }
}

function tell(step: Step): void {
  const message: StepMessage = { type: 'step', step }
  process.send?.(message)
}

function textOf(chunk: unknown, encoding: unknown): string {
  // Statements and subjects stand at the beginning; the rest of a large body is of no interest.
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding as BufferEncoding).toString('latin1')
  return chunk instanceof Uint8Array
    ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')
    : ''
}

type Done = (error?: Error | null) => void
interface Patched {
  _write(chunk: unknown, encoding: BufferEncoding, done: Done): void
  _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void
  push(chunk: unknown, encoding?: BufferEncoding): boolean
}

/** The methods of a stream that Node documents as the ones to override. */
function install(wire: Tripwire): void {
  const sockets = Socket.prototype as unknown as Patched
  const { _write, _writev, push } = sockets
  sockets._write = function (this: Socket & Patched, chunk, encoding, done) {
    const whats = wire.sends(this, textOf(chunk, encoding))
    wire.pass('send', whats)
    _write.call(this, chunk, encoding, done)
    wire.pass('sent', whats)
  }
  sockets._writev = function (this: Socket & Patched, chunks, done) {
    const whats = wire.sends(this, chunks.map(({ chunk, encoding }) => textOf(chunk, encoding)).join(''))
    wire.pass('send', whats)
    _writev.call(this, chunks, done)
    wire.pass('sent', whats)
  }
  sockets.push = function (this: Socket & Patched, chunk, encoding) {
    if (chunk instanceof Uint8Array) wire.pass('answer', wire.answers(this, chunk))
    return push.call(this, chunk, encoding)
  }
}

if (isMainThread) {
  const wire = new Tripwire()
  install(wire)
  const first = new URL(import.meta.url).searchParams.get('arm')
  if (first !== null) wire.arm(JSON.parse(first) as Trap | null)
  process.on('message', (message: ArmMessage) => {
    if (message.type !== 'arm') return
    wire.arm(message.trap)
    const armed: ArmedMessage = { type: 'armed' }
    process.send?.(armed)
  })
}
