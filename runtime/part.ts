// The life of one process: read settings, start, say ready, serve /metrics and /readyz, stop in order on SIGTERM, SIGINT or when
// the launcher goes away. Every main.ts is one call of runPart.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isParleyError } from '#proto/errors.ts'
import { commonSettings } from '#runtime/config.ts'
import { cannotListen } from '#runtime/listening.ts'
import type { Log } from '#runtime/log.ts'
import { createLog } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Env } from '#runtime/settings.ts'
import { readSettings } from '#runtime/settings.ts'

/** What a part is given. */
export interface PartContext {
  readonly env: Env
  readonly log: Log
  readonly metrics: Metrics
  /** Ends the process with an error line: for states from which only a restart helps. */
  readonly fail: (error: unknown) => void
}

/** What a started part gives back. */
export interface RunningPart {
  /** Reasons why the part cannot work right now; empty = ready. */
  readonly notReady: () => readonly string[] | Promise<readonly string[]>
  /** Finishes what was accepted, then closes. Called once; the process ends after `withinMs` whatever it does. */
  readonly stop: (withinMs: number) => Promise<void>
  /** Shown in the ready line, e.g. ports. */
  readonly about?: Readonly<Record<string, unknown>>
}

/** The message a part sends to its launcher over IPC once it works. */
export interface ReadyMessage {
  readonly type: 'ready'
  readonly opsPort: number
  readonly about: Readonly<Record<string, unknown>>
}

/** Runs a part until it is told to stop; never returns before the process ends. */
export async function runPart(name: string, start: (context: PartContext) => Promise<RunningPart>): Promise<void> {
  let log = createLog({ part: name, level: 'info' })
  // What is told to stop before it has read its settings has nothing to finish.
  let stopMs = commonSettings.stopMs.read(undefined) as number
  let running: RunningPart | undefined
  let stopping = false

  const end = async (reason: string, code: number): Promise<void> => {
    if (stopping) return
    stopping = true
    const deadline = setTimeout(() => {
      log.error({ reason }, 'stop took too long; ending anyway')
      process.exit(1)
    }, stopMs)
    try {
      await running?.stop(stopMs)
      log.info({ reason }, 'stopped')
    } catch (error) {
      log.error({ err: error, reason }, 'stop failed')
      code = 1
    }
    clearTimeout(deadline)
    process.exit(code)
  }
  const fail = (error: unknown): void => {
    log.fatal({ err: error }, 'ending on an error')
    void end('error', 1)
  }
  process.on('SIGTERM', () => void end('SIGTERM', 0))
  process.on('SIGINT', () => void end('SIGINT', 0))
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  if (process.send) process.on('disconnect', () => void end('launcher gone', 0))

  try {
    // The whole environment of the process, read here and nowhere else.
    const env: Env = { ...process.env }
    const common = readSettings(env, commonSettings)
    log = createLog({ part: name, level: common.logLevel })
    stopMs = common.stopMs
    const metrics = createMetrics(name)
    running = await start({ env, log, metrics, fail })
    const part = running
    const server = createServer((req, res) => {
      void answerOps(req.url ?? '/', part, metrics).then(
        ({ status, type, body }) => res.writeHead(status, { 'content-type': type }).end(body),
        (error: unknown) => res.writeHead(500).end(String(error)),
      )
    })
    await new Promise<void>((resolve, reject) => {
      const { opsHost: host, opsPort: port } = common
      const place = { host, port, hostVariable: 'PARLEY_OPS_HOST', portVariable: 'PARLEY_OPS_PORT' }
      server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error.code ?? error.message, place)))
      server.listen(port, host, resolve)
    })
    server.unref()
    const opsPort = (server.address() as AddressInfo).port
    log.info({ opsPort, ...part.about }, 'ready')
    const message: ReadyMessage = { type: 'ready', opsPort, about: part.about ?? {} }
    process.send?.(message)
  } catch (error) {
    // A setting that is wrong and an engine that is away are the operator's to mend: one line without a stack.
    if (isParleyError(error) && /^(CFG|RUN)_/.test(error.code)) log.fatal(error.message)
    else log.fatal({ err: error }, 'did not start')
    process.exit(1)
  }
}

async function answerOps(
  url: string,
  part: RunningPart,
  metrics: Metrics,
): Promise<{ status: number; type: string; body: string }> {
  if (url === '/metrics') {
    return { status: 200, type: metrics.registry.contentType, body: await metrics.registry.metrics() }
  }
  if (url === '/readyz') {
    const reasons = await part.notReady()
    return {
      status: reasons.length === 0 ? 200 : 503,
      type: 'application/json',
      body: JSON.stringify({ ready: reasons.length === 0, reasons }),
    }
  }
  return { status: 404, type: 'text/plain', body: 'not found\n' }
}
