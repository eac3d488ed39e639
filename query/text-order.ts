// Texts in the order of the store, which is that of their bytes: what is chosen or sorted here is what a statement would choose.

/** Below 0 where `a` comes first. */
export const compareTexts = (a: string, b: string): number =>
  a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The last of some texts; '' of none. */
export const largest = (texts: readonly string[]): string =>
  [...new Set(texts)].reduce((a, b) => (compareTexts(a, b) < 0 ? b : a), '')
