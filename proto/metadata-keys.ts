// Which keys of metadata are parley's, as said by how they begin: its own remarks, and what a trace says about where it ran. All others are
// the user's. Ours are told apart from theirs in answers and left out of lists of keys; filters, charts and exports take both.

/** parley's own remarks. */
export const OWN_PREFIX = 'parley.'
/** Attributes of the resource that a span ran on. */
export const RESOURCE_PREFIX = 'resource.'
/** The instrumentation that made a span. */
export const SCOPE_PREFIX = 'otel.'

const prefixes = [OWN_PREFIX, RESOURCE_PREFIX, SCOPE_PREFIX]

export function isOurKey(key: string): boolean {
  return prefixes.some(prefix => key.startsWith(prefix))
}

/** The same as a condition of the store on an expression. */
export const isOurKeySql = (key: string): string =>
  `(${prefixes.map(prefix => `startsWith(${key}, '${prefix}')`).join(' OR ')})`
