// A Chromium without a window, told what to do through its DevTools protocol
// (https://chromedevtools.github.io/devtools-protocol/). Comes as Debian's package `chromium`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Teardown } from '#test/rig.ts'
import { eventually } from '#test/rig.ts'

/** One page. */
export interface Page {
  open(url: string): Promise<void>
  /** The value of an expression in the page, by copy; promises are awaited. */
  evaluate(expression: string): Promise<unknown>
  /** Waits until an expression in the page, whichever it shows then, is true. */
  until(what: string, expression: string): Promise<void>
  /** Cookies of the site, also those that its scripts cannot see. */
  cookies(url: string): Promise<readonly Cookie[]>
}

/** A cookie as the browser keeps it. */
export interface Cookie {
  readonly name: string
  readonly value: string
  readonly httpOnly: boolean
  readonly sameSite?: string
}

/** Starts the browser with one page. @throws Error where there is none to start. */
export async function openPage(t: Teardown): Promise<Page> {
  const profile = await mkdtemp(join(tmpdir(), 'parley-browser-'))
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
  ]
  const browser = spawn('chromium', [...flags, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const failed = once(browser, 'error').then(([cause]) => {
    throw new Error('chromium does not start: install the package `chromium`', { cause })
  })
  t.teardown(async () => {
    if (browser.exitCode === null) {
      browser.kill()
      await once(browser, 'exit')
    }
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  const address = await Promise.race([addressOf(createInterface({ input: browser.stderr })), failed])
  const { host } = new URL(address)
  const target = await eventually('a page', async () => {
    const targets = (await (await fetch(`http://${host}/json/list`)).json()) as {
      type: string
      webSocketDebuggerUrl: string
    }[]
    return targets.find(({ type }) => type === 'page')
  })
  const send = await connect(target.webSocketDebuggerUrl)
  t.teardown(() => send.close())
  // The page that is there forbids itself to ask anything; what is tested is the browser's cookies.
  await send.call('Page.setBypassCSP', { enabled: true })
  const evaluate = async (expression: string): Promise<unknown> => {
    const answer = await send.call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })
    const { result, exceptionDetails } = answer as { result: { value?: unknown }; exceptionDetails?: { text: string } }
    if (exceptionDetails !== undefined) throw new Error(`the page says ${JSON.stringify(exceptionDetails)}`)
    return result.value
  }
  return {
    evaluate,
    open: async url => void (await send.call('Page.navigate', { url })),
    until: async (what, expression) => void (await eventually(what, async () => (await evaluate(expression)) === true)),
    cookies: async url => ((await send.call('Network.getCookies', { urls: [url] })) as { cookies: Cookie[] }).cookies,
  }
}

/** The line that says where it listens. */
async function addressOf(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const [, address] = /DevTools listening on (ws:\S+)/.exec(line) ?? []
    if (address !== undefined) return address
  }
  throw new Error('chromium ended before it listened')
}

async function connect(url: string) {
  const socket = new WebSocket(url)
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as {
      id?: number
      result?: unknown
      error?: { message: string }
    }
    const call = id === undefined ? undefined : waiting.get(id)
    if (call === undefined || id === undefined) return
    waiting.delete(id)
    if (error === undefined) call.resolve(result)
    else call.reject(new Error(error.message))
  })
  socket.addEventListener('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the browser went away'))
  })
  await once(socket, 'open')
  return {
    close: () => socket.close(),
    call: (method: string, params: object): Promise<unknown> =>
      new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject })
        socket.send(JSON.stringify({ id: last, method, params }))
      }),
  }
}
