// The quoted names of a statement in canonical form, where strings stand in single quotes and odd names in backticks.

/** What stands between backticks, escapes undone no further than a name may contain. */
export function identifiersOf(canonical: string): string[] {
  const found: string[] = []
  for (const [token] of canonical.matchAll(/'(?:[^'\\]|\\.|'')*'|`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*"/g)) {
    if (!token.startsWith("'")) found.push(token.slice(1, -1))
  }
  return found
}
