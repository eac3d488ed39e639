// A server of a bench as a child process: a file and its arguments go in; it sends its port once it listens.
import { fork } from 'node:child_process'

/** A running server. */
export interface BenchServer {
  readonly port: number
  readonly pid: number
  stop(): void
}

/** Starts `file` and waits for its port. */
export function startServer(file: URL, args: readonly string[]): Promise<BenchServer> {
  const child = fork(file, [...args])
  return new Promise((resolve, reject) => {
    child.once('message', port => resolve({ port: Number(port), pid: child.pid ?? 0, stop: () => void child.kill() }))
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${file.pathname} ended with code ${code} before it listened`)))
  })
}
