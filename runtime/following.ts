// How followers of a stream pull, for `consume` of an ordered consumer.

/**
 * A pull that was lost on its way leaves the client waiting until two heartbeats are missed, which are fifteen seconds apart unless one
 * says otherwise: records of finished ranges arrived half a minute late then, and all that waits for them (seen once in ten minutes
 * of 2,000 spans a second). A process that is held up for as long makes its consumer anew, which costs it a request.
 */
export const FOLLOWING = { expires: 30_000, idle_heartbeat: 1_000 } as const
