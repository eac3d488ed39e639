// A TCP proxy whose connections can be cut, slowed or held: the network between two parts.
import { connect, createServer, type Server, type Socket } from 'node:net'

/** What the network does at the moment. */
export type Weather = 'fair' | 'cut' | 'slow' | 'held'

/** A proxy in front of one port. */
export interface Proxy {
  readonly port: number
  /** `cut` resets what there is and whatever is opened; `slow` delays each piece; `held` lets nothing through and closes nothing. */
  set(weather: Weather, delayMs?: number): void
  close(): Promise<void>
}

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

/** Starts a proxy on a free port of this machine. */
export async function startProxy(target: number): Promise<Proxy> {
  const pairs = new Set<Pair>()
  let weather: Weather = 'fair'
  let delayMs = 0
  const end = (pair: Pair): void => {
    pairs.delete(pair)
    pair.near.destroy()
    pair.far.destroy()
  }
  const pump = (from: Socket, to: Socket, pair: Pair): void => {
    let last = Promise.resolve()
    /** Pieces that wait for their time: whatever comes meanwhile has to wait behind them, also when the weather is fair again. */
    let waiting = 0
    from.on('data', (chunk: Buffer) => {
      if (weather === 'fair' && waiting === 0) {
        if (!to.write(chunk)) from.pause()
        return
      }
      from.pause()
      waiting++
      last = last.then(() => later(chunk, delayMs))
    })
    const later = async (chunk: Buffer, ms: number): Promise<void> => {
      if (ms > 0) await new Promise(resolve => setTimeout(resolve, ms))
      if (!to.destroyed) to.write(chunk)
      waiting--
      if (weather !== 'held') from.resume()
    }
    to.on('drain', () => {
      if (weather !== 'held') from.resume()
    })
    // What is still under way goes first.
    from.on('end', () => void last.then(() => to.end()))
    from.on('error', () => end(pair))
    from.on('close', () => void last.then(() => end(pair)))
  }
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, near => {
    if (weather === 'cut') return void near.resetAndDestroy()
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const pair = { near, far }
    pairs.add(pair)
    pump(near, far, pair)
    pump(far, near, pair)
    if (weather === 'held') for (const socket of [near, far]) socket.pause()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    set: (next, ms = 0) => {
      weather = next
      delayMs = next === 'slow' ? ms : 0
      for (const { near, far } of [...pairs]) {
        for (const socket of [near, far]) {
          if (next === 'cut') socket.resetAndDestroy()
          else if (next === 'held') socket.pause()
          else socket.resume()
        }
      }
    },
    close: () =>
      new Promise(resolve => {
        for (const pair of [...pairs]) end(pair)
        server.close(() => resolve())
      }),
  }
}
