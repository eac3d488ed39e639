// What lies in the folder of a release.
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { User } from '#control/records.ts'
import type { World } from '../backup/world.ts'

/** What questions about the world of a release name, and who asks them. */
export interface ReleaseWorld {
  readonly world: World
  readonly organization: string
  readonly owner: User
}

/** A release. */
export interface Release extends ReleaseWorld {
  readonly version: string
  /** The folder of its backup. */
  readonly backup: string
  readonly answers: Readonly<Record<string, unknown>>
}

const ROOT = new URL('./', import.meta.url)

/** Every release that is kept, by name. */
export async function readReleases(): Promise<Release[]> {
  const entries = await readdir(ROOT, { withFileTypes: true })
  const versions = entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(
    versions.sort().map(async version => {
      const file = async (name: string): Promise<unknown> =>
        JSON.parse(await readFile(new URL(`${version}/${name}.json`, ROOT), 'utf8'))
      const backup = fileURLToPath(new URL(`${version}/backup`, ROOT))
      const answers = (await file('answers')) as Release['answers']
      return { ...((await file('world')) as ReleaseWorld), version, backup, answers }
    }),
  )
}
