// Takes the place of `async-hook-domain` in the bundle of tap (see bundle.ts): an error that nobody caught goes to the test that it comes
// from, or to the one around it where that has ended. tap's own does the same by hooks at the end of every promise, which make the
// engine keep an object for each.
import { AsyncLocalStorage } from 'node:async_hooks'

type OnError = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => void

const current = new AsyncLocalStorage<Domain>()
const living = new Set<Domain>()

/** What tap makes for each test, in the asynchronous context in which the test will run. */
export class Domain {
  readonly onerror: OnError
  readonly around: Domain | undefined

  constructor(onerror: OnError) {
    this.onerror = onerror
    this.around = current.getStore()
    if (living.size === 0) process.on('uncaughtException', told)
    living.add(this)
    current.enterWith(this)
  }

  destroy(): void {
    if (living.delete(this) && living.size === 0) process.off('uncaughtException', told)
  }
}

/** Rejections that nobody handled come here, too. */
function told(error: Error, origin: NodeJS.UncaughtExceptionOrigin): void {
  // Whoever else listens has a reason to.
  if (process.listenerCount('uncaughtException') > 1) return
  let domain = current.getStore()
  while (domain !== undefined && !living.has(domain)) domain = domain.around
  // What comes from outside of every test is the file's.
  const [first] = living
  const whose = domain ?? first
  whose?.onerror(error, origin)
}
