// The price list that comes with parley, or the file that an operator names instead.
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Compile } from 'typebox/compile'
import { ParleyError } from '#proto/errors.ts'
import { readJsonText } from '#proto/json.ts'
import { type PriceEntry, PriceList, type PriceOverride } from '#proto/prices.ts'
import { plainName } from './names.ts'

/** A list and what names exactly its contents. */
export interface LoadedPrices {
  readonly list: PriceList
  readonly hash: string
}

const BUILT_IN = new URL('./prices.json', import.meta.url)
const checker = Compile(PriceList)

/**
 * Reads a price list. `path` '' = the one that comes with parley.
 * @throws ParleyError CFG_INVALID that says what is wrong with the file, and where.
 */
export async function loadPrices(path: string): Promise<LoadedPrices> {
  const wrong = (why: string, cause?: unknown): ParleyError =>
    new ParleyError('CFG_INVALID', `PARLEY_PRICES ${path}: ${why}`, { cause })
  const text = await readFile(path === '' ? BUILT_IN : path, 'utf8').catch((error: unknown) => {
    throw wrong('cannot be read', error)
  })
  const list = readJsonText(text)
  if (list === undefined) throw wrong('is no JSON')
  if (!checker.Check(list)) {
    const fault = checker.Errors(list)[0]
    throw wrong(`${fault?.instancePath.slice(1).replaceAll('/', '.') || 'the list'} ${fault?.message ?? 'is wrong'}`)
  }
  const twice = findTwice(list.entries)
  if (twice !== null) throw wrong(`${twice} has two prices`)
  return { list, hash: hash('sha1', JSON.stringify(list), 'hex').slice(0, 12) }
}

/** The first name that two entries of one provider claim, null when there is none: which one counts would be an accident. */
export function findTwice(entries: readonly (PriceEntry | PriceOverride)[]): string | null {
  const seen = new Set<string>()
  const anywhere = new Set<string>()
  for (const entry of entries) {
    const names = new Set([entry.model, ...(entry.aliases ?? [])].map(plainName))
    for (const name of names) {
      const key = `${name} of ${entry.provider ?? 'any provider'}`
      if (seen.has(key)) return key
      seen.add(key)
      if (!('anywhere' in entry && entry.anywhere)) continue
      if (anywhere.has(name)) return `${name} of any provider`
      anywhere.add(name)
    }
  }
  return null
}
