// Adding up takes the thread for tens of milliseconds: what other parts of a request ask of the store goes out before it, so that the store
// reads meanwhile.
import { setImmediate } from 'node:timers/promises'

/** Comes back when statements that were asked for before have been sent. */
export const sent = (): Promise<void> => setImmediate()
