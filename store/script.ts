// The text of a migration -> its statements, and what its comments ask of whoever runs it. Most hold one statement that may be repeated;
// one that replaces a table holds several, and says how to tell that it is done and what has to be over before.

/** A migration, ready to be run. */
export interface Script {
  readonly statements: readonly string[]
  /** A query whose number is not 0 when there is nothing left to do. */
  readonly unless: string | undefined
  /** A query whose number is not 0 as soon as it may begin. */
  readonly once: string | undefined
  /** Nothing may be stored while it runs. */
  readonly still: boolean
}

/**
 * Reads a migration: comment lines, then statements that end with `;` at the end of a line (the last one needs none). A comment that
 * begins with `@unless `, `@once ` or `@still` is meant for the one who runs it.
 */
export function readScript(text: string): Script {
  const lines = text.split('\n')
  const asked = (word: string): string | undefined =>
    lines
      .find(line => line.startsWith(`-- @${word}`))
      ?.slice(`-- @${word}`.length)
      .trim()
  const body = lines.filter(line => !line.trimStart().startsWith('--')).join('\n')
  const statements = body
    .split(/;[ \t]*(?:\n|$)/)
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
  return { statements, unless: asked('unless'), once: asked('once'), still: asked('still') !== undefined }
}
