// The network between the servers of a cluster: each route goes through a proxy of its own, so that a server may lose the others and
// keep its clients.

import type { Teardown } from '#test/rig.ts'
import { type Proxy, startProxy } from '#test/storm/proxy.ts'

/** How a server is isolated: `cut` resets its routes, `held` lets them stand and nothing through, and delivers it all when it heals. */
export type Isolation = 'cut' | 'held'

/** Where a server waits for the others. */
export interface RoutePlace {
  readonly name: string
  readonly routePort: number
}

/** What a server's configuration says of its routes. */
export interface Routing {
  /** Ports at which it dials the others. */
  readonly dials: readonly number[]
  /** Port that it gives to others to pass on; left out: its own. */
  readonly advertised?: number
}

/** The routes of one cluster. */
export interface Network {
  /** Lays the routes between the servers; to be called once. */
  lay(places: readonly RoutePlace[]): Promise<ReadonlyMap<string, Routing>>
  /** Ports at which the servers wait: who dials one of them goes around its proxy. */
  ports(): ReadonlySet<number>
  /** From its return on nothing comes from `name` to the others or from them to it. */
  isolate(name: string, how: Isolation): void
  heal(): void
}

/** A network whose proxies end with the test. */
export function createNetwork(t: Teardown): Network {
  const ways: { from: string; to: string; port: number; proxy: Proxy }[] = []
  const open = async (port: number): Promise<Proxy> => {
    const proxy = await startProxy(port)
    t.teardown(() => proxy.close())
    return proxy
  }
  return {
    lay: async places => {
      for (const { name: from } of places) {
        for (const { name: to, routePort } of places) {
          if (from !== to) ways.push({ from, to, port: routePort, proxy: await open(routePort) })
        }
      }
      // Servers tell each other where the third one is. That leads to nobody, or a route would go around the proxies.
      const nowhere = await open(0)
      nowhere.set('cut')
      const dialsOf = (name: string) => ways.filter(({ from }) => from === name).map(({ proxy }) => proxy.port)
      return new Map(places.map(({ name }) => [name, { dials: dialsOf(name), advertised: nowhere.port }]))
    },
    ports: () => new Set(ways.map(({ port }) => port)),
    isolate: (name, how) => {
      for (const { from, to, proxy } of ways) if (from === name || to === name) proxy.set(how)
    },
    heal: () => {
      for (const { proxy } of ways) proxy.set('fair')
    },
  }
}
