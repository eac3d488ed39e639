// How payloads are read besides what the parsers know: the price list, and what organizations say (prices and rules of their own).
// The process keeps it from the control view; worker threads get it as text in shared memory and compile it once.
// A recipe names what was used by hash, so that whoever stores the range again reads it in the same way.
import type { ControlView } from '#control/view.ts'
import { createPricing, indexPrices } from '#pricing/quote.ts'
import type { PriceList, PriceOverride } from '#proto/prices.ts'
import type { RuleDraft } from '#proto/rules.ts'
import type { FrameContext } from './outcome.ts'
import { compileRules } from './parsers/otlp/rules.ts'

/** What worker threads get. */
export interface ReadingSettings {
  /** Names the contents: what a thread compiled of it is used again. */
  readonly id: number
  /** JSON of `Contents`, in memory that all threads share. */
  readonly json: Uint8Array<SharedArrayBuffer>
}

interface Contents {
  readonly prices: PriceList
  /** By organization; those that say nothing are absent. */
  readonly organizations: Readonly<Record<string, Said>>
}

interface Said {
  readonly hash: string
  readonly prices: readonly PriceOverride[]
  readonly rules: readonly RuleDraft[]
}

/** Hashes by organization, as a recipe holds them. */
export type ReadingHashes = Readonly<Record<string, string>>

/** The settings that processors read by. */
export interface Readings {
  /** What holds now; the same object until something changes. */
  now(): ReadingSettings
  /**
   * What held when a recipe was made. What is no longer kept is taken as it is now: the recipe is not reproduced then, and its range
   * is stored anew.
   */
  as(used: ReadingHashes | undefined): ReadingSettings
}

let lastId = 0

function settingsOf(contents: Contents): ReadingSettings {
  const text = Buffer.from(JSON.stringify(contents))
  const json = new Uint8Array(new SharedArrayBuffer(text.length))
  json.set(text)
  return { id: ++lastId, json }
}

/** Settings over the control view. */
export function createReadings(
  prices: PriceList,
  control: Pick<ControlView, 'readings' | 'readingOf' | 'onReading'>,
): Readings {
  let present: ReadingSettings | undefined
  control.onReading(() => {
    present = undefined
  })
  const spoken = (): Record<string, Said> =>
    Object.fromEntries(
      [...control.readings()].map(([organization, record]) => [organization.toLowerCase(), saidIn(record)]),
    )
  const now = (): ReadingSettings => {
    present ??= settingsOf({ prices, organizations: spoken() })
    return present
  }
  return {
    now,
    as: (used = {}) => {
      const today = spoken()
      const same = Object.keys(today).every(organization => used[organization] === today[organization]?.hash)
      if (same && Object.keys(used).every(organization => organization in today)) return now()
      const organizations = Object.entries(used).flatMap(([organization, hash]) => {
        const kept = control.readingOf(organization, hash)
        const said = kept === undefined ? today[organization] : saidIn({ ...kept, hash })
        return said === undefined ? [] : [[organization, said] as const]
      })
      return settingsOf({ prices, organizations: Object.fromEntries(organizations) })
    },
  }
}

const saidIn = ({ hash, prices, rules }: Said): Said => ({ hash, prices, rules })

/** Settings without prices, where nobody says anything. */
export const plainReadings: Readings = (() => {
  const settings = settingsOf({ prices: { version: 'none', entries: [] }, organizations: {} })
  return { now: () => settings, as: () => settings }
})()

/** How payloads of one organization are read. `hash` '' = as everybody's. */
export interface OrganizationReading {
  readonly hash: string
  readonly context: Pick<FrameContext, 'pricing' | 'rules'>
}

type Compiled = (organization: string) => OrganizationReading

/** Compiled settings of this thread: those of the last few ids, since an older recipe may be read between two of now. */
const compiled = new Map<number, Compiled>()
const KEPT = 4

/** Compiles settings, once a thread. */
export function openReading(settings: ReadingSettings): Compiled {
  const known = compiled.get(settings.id)
  if (known) return known
  const opened = compile(JSON.parse(Buffer.from(settings.json).toString()) as Contents)
  compiled.set(settings.id, opened)
  for (const id of compiled.keys()) {
    if (compiled.size <= KEPT) break
    compiled.delete(id)
  }
  return opened
}

function compile({ prices, organizations }: Contents): Compiled {
  const list = indexPrices(prices.entries)
  const everybody: OrganizationReading = { hash: '', context: { pricing: createPricing(list) } }
  const special = new Map<string, OrganizationReading>()
  return organization => {
    const said = organizations[organization]
    if (said === undefined) return everybody
    let reading = special.get(organization)
    if (!reading) {
      const context = { pricing: createPricing(list, said.prices), rules: compileRules(said.rules) }
      reading = { hash: said.hash, context }
      special.set(organization, reading)
    }
    return reading
  }
}
