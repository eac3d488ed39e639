// Processes that are killed at random and come back at once, and what they could tell before they died.
import { startPartProcess } from '#local/part.ts'
import { liesIn } from '#test/kill-points/processor.ts'
import type { Teardown, TestEngine } from '#test/rig.ts'

const SCRAPE_TIMEOUT_MS = 500

/** Something that can be killed. */
export interface Victim {
  readonly name: string
  /** False while it comes back. */
  up(): boolean
  /** SIGKILL; resolves when it has been started again. */
  kill(): Promise<void>
}

/** An engine of the rig. */
export function engineVictim(name: string, engine: TestEngine): Victim {
  let up = true
  return {
    name,
    up: () => up,
    kill: async () => {
      up = false
      await engine.kill9()
      await engine.restart()
      up = true
    },
  }
}

/** What processors have counted in all their lives. Proofs of the last instants of a life are not known. */
export interface Counted {
  readonly proofs: Map<string, number>
  /** Blocks whose token was answered with success while a count found nothing of them, by table. */
  readonly lies: Map<string, number>
}

interface Life {
  readonly kill: (signal: NodeJS.Signals) => void
  /** Resolves when it is gone and its last line has been read. */
  readonly closed: Promise<void>
  /** 0 until it is ready. */
  opsPort: number
}

/** A processor that is started again whenever it ends. */
export class ProcessorVictim implements Victim {
  readonly name = 'processor'
  readonly #env: Readonly<Record<string, string>>
  readonly #counted: Counted
  #life: Life
  #ending = false

  constructor(t: Teardown, env: Readonly<Record<string, string>>, counted: Counted) {
    this.#env = env
    this.#counted = counted
    this.#life = this.#start()
    t.teardown(() => this.end())
  }

  up(): boolean {
    return true
  }

  /** Reads the proofs of this life, then ends it. A process that is still starting is killed as it is. */
  async kill(): Promise<void> {
    await this.#scrape()
    const { kill, closed } = this.#life
    kill('SIGKILL')
    await closed
  }

  /** The last kill. */
  async end(): Promise<void> {
    this.#ending = true
    await this.kill()
  }

  async #scrape(): Promise<void> {
    const { opsPort } = this.#life
    if (opsPort === 0) return
    try {
      const signal = AbortSignal.timeout(SCRAPE_TIMEOUT_MS)
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`, { signal })).text()
      for (const [, labels = '', n] of text.matchAll(/^\w+_proofs_total\{([^}]*)\} (\d+)/gm)) {
        add(this.#counted.proofs, /healed="(\w+)"/.exec(labels)?.[1] ?? '?', Number(n))
      }
    } catch {
      // Busy or gone: its last proofs stay unknown.
    }
  }

  #start(): Life {
    const { child, ready } = startPartProcess({ main: 'processors/main.ts', env: this.#env, output: 'pipe' })
    let log = ''
    child.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    child.process.stderr?.resume()
    const closed = new Promise<void>(resolve => child.process.once('close', () => resolve()))
    const life: Life = { kill: child.kill, closed, opsPort: 0 }
    ready.then(
      ({ opsPort }) => {
        life.opsPort = opsPort
      },
      () => {},
    )
    void closed.then(() => {
      for (const [table, n] of Object.entries(liesIn(log))) add(this.#counted.lies, table, n)
      if (!this.#ending) this.#life = this.#start()
    })
    return life
  }
}

function add(to: Map<string, number>, key: string, n: number): void {
  to.set(key, (to.get(key) ?? 0) + n)
}
