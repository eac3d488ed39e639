// The version of this build, from package.json.
import { readFile } from 'node:fs/promises'

/** The version that package.json says. */
export async function readVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}
