// The ClickHouse that all test files of a run share: started by whoever needs it first, gone soon after the last one.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createConnection } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const KEEPER = fileURLToPath(new URL('./engines-keeper.ts', import.meta.url))
const START_TIMEOUT_MS = 300_000
/** A keeper that meets another one's end leaves; then one is started anew. */
const KEEPER_MS = 5_000
const RETRY_MS = 50
/** Without an answer for so long it is asked again. */
const ASK_MS = 20_000

/** One keeper per checkout and user. In the temp folder, because a socket's path may have some 100 characters only. */
function socketPath(): string {
  const name = createHash('sha256').update(`${KEEPER} ${userInfo().uid}`).digest('hex').slice(0, 12)
  return join(tmpdir(), `parley-test-${name}.sock`)
}

/**
 * Settings of the tests' engines: expressions are computed as they are. What is met three times is made into machine code otherwise,
 * which pays for millions of rows and costs more than everything else for a handful. Nor are a dozen rows cut into layers by their keys
 * before they are folded. Answers are the same.
 */
export const FOR_FEW_ROWS = {
  compile_expressions: 0,
  compile_aggregate_expressions: 0,
  compile_sort_description: 0,
  max_final_threads: 1,
} as const

/** Addresses of the engine, with credentials, by whom they are for. */
export interface SharedEngine {
  readonly url: string
  readonly readerUrl: string
  readonly sqlUrl: string
  /** Its processes: whoever wants to know what it costs looks there. */
  readonly pids: readonly number[]
}

let shared: Promise<SharedEngine> | undefined

/** The shared engine; it stays up while this process lives. */
export function sharedClickHouse(): Promise<SharedEngine> {
  shared ??= obtain()
  return shared
}

async function obtain(): Promise<SharedEngine> {
  const deadline = performance.now() + START_TIMEOUT_MS
  let startAt = performance.now()
  while (performance.now() < deadline) {
    const answer = await ask()
    if (answer !== undefined) {
      if ('url' in answer) return answer
      throw new Error(`the shared ClickHouse did not start: ${answer.error}`)
    }
    if (performance.now() >= startAt) {
      startAt = performance.now() + KEEPER_MS
      // Detached: it serves other test processes after this one has ended.
      spawn(process.execPath, [KEEPER, socketPath()], { detached: true, stdio: 'ignore' }).unref()
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_MS))
  }
  throw new Error('the shared ClickHouse did not start in time')
}

/** One line from the keeper; undefined when there is none, or when it was just ending. The connection stays. */
function ask(): Promise<SharedEngine | { readonly error: string } | undefined> {
  return new Promise(resolve => {
    const socket = createConnection(socketPath())
    const timer = setTimeout(() => socket.destroy(), ASK_MS)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      text += chunk
      if (!text.includes('\n')) return
      clearTimeout(timer)
      // Held for the life of the process without keeping it alive.
      socket.unref()
      resolve(JSON.parse(text) as SharedEngine | { readonly error: string })
    })
    socket.once('error', () => resolve(undefined))
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(undefined)
    })
  })
}
