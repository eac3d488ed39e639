// Names of settings that no part declares: an environment goes in, mistakes of typing come out. The README's table has all names; a test
// holds it to the declarations.
import { readFile } from 'node:fs/promises'
import type { Env } from '#runtime/settings.ts'

/** The `PARLEY_…` variables that are set, and those of them that nothing reads. */
export async function unreadNames(env: Env): Promise<{ set: readonly string[]; unread: readonly string[] }> {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const known = new Set([...readme.matchAll(/^\| `(PARLEY_\w+)`/gm)].map(([, name]) => name))
  const set = Object.keys(env).filter(name => name.startsWith('PARLEY_') && env[name] !== '')
  return { set, unread: set.filter(name => !known.has(name)).sort() }
}
