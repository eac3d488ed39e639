// The metadata of spans of one likeness, as steps: under which keys, in which order, and which of the texts stand in the span itself.
// It says what parsers/otlp/span-metadata.ts would say; what that would have to cut or merge is left to it.
import { isObject, readExactJsonText } from '#proto/json.ts'
import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import type { Resource } from '#proto/otlp/span.ts'
import { encodedTexts, WordRun } from '../columns/text.ts'
import { METADATA_BOUNDS, readyEntry } from '../parsers/metadata.ts'
import { Bulk, isContent } from '../parsers/otlp/keys.ts'
import { entriesOfResource, entriesOfScope, omittedText, spanKindNames } from '../parsers/otlp/span-metadata.ts'
import type { Plan } from './plan.ts'
import { isName, isSecret } from './vocabulary.ts'

/** One entry. `at`: the attribute whose text it has; `side`: the messages of that side; else `text`. */
export interface Step {
  readonly name: string
  readonly at: number
  readonly side: 'input' | 'output' | null
  readonly text: string
  /** The text there may stand in the quotes of JSON. */
  readonly literal: boolean
  /** What stands there is masked whatever it is. */
  readonly secret: boolean
}

/** Texts that are always the same, as they stand in their column. */
export interface FixedTexts {
  readonly encoded: Uint8Array
  readonly count: number
}

/** The metadata of spans of which the same was decided. */
export interface Variant {
  readonly entries: readonly Step[]
  /** Keys and values of the entries, and of the remarks that are always the same and stand before those of the span's own … */
  readonly keys: WordRun
  readonly pieces: readonly (Step | FixedTexts)[]
  /** … and of those that stand behind them. */
  readonly after: { readonly keys: WordRun; readonly texts: FixedTexts } | null
  /** Units of everything that does not stand in the span. */
  readonly fixedUnits: number
  /** What was said beyond input and output; its values stand in the span, or are messages. */
  readonly content: Content
  /** Carried attributes about the conversation, by position and name. */
  readonly attached: readonly (readonly [at: number, name: string])[]
  /** Equal for variants that reveal the same by the same session, user, address, and values of traits and attached attributes. */
  readonly reveals: object
  /** How captures of these spans are written without a row; null where they say more than that, and a service. */
  readonly capture: Capture | null
}

/** What stands in the column `content` of the texts. */
export interface Content {
  readonly keys: WordRun
  readonly entries: readonly Step[]
  /** Units of the keys. */
  readonly fixedUnits: number
}

/** Keys and values of a capture's metadata. */
export interface Capture {
  readonly keys: WordRun
  readonly texts: FixedTexts
}

/** What was decided about a span beyond its plan. */
export interface Decided {
  /** The place that was taken, and whether the span has a text of its own there; -1 = none. */
  readonly input: number
  readonly output: number
  readonly ownInput: boolean
  readonly ownOutput: boolean
  readonly counts: boolean
  /** Key of the messages kept beside a text; '' = none. */
  readonly inputKey: string
  readonly outputKey: string
}

type Put = (name: string, at: number, text?: string, side?: Step['side'], literal?: boolean) => void

/** The steps of a variant; null when they are not simple. */
export function variantOf(plan: Plan, decided: Decided): Variant | null {
  const used = usedBy(plan, decided)
  const steps = new Map<string, Step>()
  const said = new Map<string, Step>()
  const puts =
    (into: Map<string, Step>): Put =>
    (name, at, text = '', side = null, literal = false) => {
      into.set(name, { name, at, side, text, literal, secret: (at >= 0 || side !== null) && isSecret(name) })
    }
  const [put, putContent] = [puts(steps), puts(said)]
  const omitted: string[] = []
  const dull = Bulk.always | (decided.ownInput ? Bulk.input : 0) | (decided.ownOutput ? Bulk.output : 0)
  let carried = false
  for (const [at, { key, facts }] of plan.keys.entries()) {
    if (used.has(at)) continue
    if ((facts.bulk & dull) !== 0) omitted.push(key)
    else if (isContent(facts, plan.dialects)) putContent(key, at)
    else if (key === 'metadata') {
      if (!putObject(plan, steps, at, put)) return null
    } else if (facts.carried === null) put(key, at)
    else carried = true
  }
  const attached = putCarried(plan, used, name => (carried ? steps.has(name) : null), put)
  if (decided.inputKey !== '') putContent(decided.inputKey, -1, '', 'input')
  if (decided.outputKey !== '') putContent(decided.outputKey, -1, '', 'output')
  for (const [name, text] of entriesOfResource(plan.resource)) if (!steps.has(name)) put(name, -1, text)
  for (const [name, text] of entriesOfScope(plan.scope)) if (!steps.has(name)) put(name, -1, text)
  const entries = [...steps.values()]
  const content = contentOf([...said.values()])
  for (const list of [entries, content.entries]) {
    if (!list.every(({ name }) => isName(name)) || list.length > METADATA_BOUNDS.keys / 2) return null
  }
  if (entries.some(({ text }) => text.length > METADATA_BOUNDS.valueUnits)) return null
  const all = [...entries, ...remarksOf(plan)]
  const last = omitted.length === 0 ? null : remark('omitted', omittedText(omitted))
  const fixedUnits = entries.reduce((n, { name, text }) => n + name.length + text.length, 0)
  const plain = attached.length === 0 && plan.traits.length === 0
  return {
    ...{ entries, content, attached, fixedUnits, reveals: revealsOf(plan, attached) },
    capture: plain ? plainCapture(plan) : null,
    keys: new WordRun(all.map(({ name }) => name)),
    pieces: piecesOf(all),
    after: last === null ? null : { keys: new WordRun([last.name]), texts: fixedTexts([last.text]) },
  }
}

function contentOf(entries: readonly Step[]): Content {
  const names = entries.map(({ name }) => name)
  return { entries, keys: new WordRun(names), fixedUnits: names.reduce((n, { length }) => n + length, 0) }
}

/** The steps, those next to each other that are always the same as one piece. */
function piecesOf(steps: readonly Step[]): (Step | FixedTexts)[] {
  const pieces: (Step | FixedTexts)[] = []
  let texts: string[] = []
  const end = (): void => {
    if (texts.length > 0) pieces.push(fixedTexts(texts))
    texts = []
  }
  for (const step of steps) {
    if (step.at < 0 && step.side === null) texts.push(step.text)
    else {
      end()
      pieces.push(step)
    }
  }
  end()
  return pieces
}

const fixedTexts = (texts: readonly string[]): FixedTexts => ({ encoded: encodedTexts(texts), count: texts.length })

const revealing = new WeakMap<Resource, Map<string, object>>()

/** What spans reveal of one resource that say something under the same names. */
function revealsOf({ resource, keys, traits }: Plan, attached: Variant['attached']): object {
  const known = revealing.get(resource) ?? new Map<string, object>()
  revealing.set(resource, known)
  const names = JSON.stringify([traits.map(i => keys[i]?.key), attached.map(([, name]) => name)])
  const found = known.get(names) ?? {}
  known.set(names, found)
  return found
}

/** A capture that says the name of the service, if there is one; null where that would be cut. */
function plainCapture({ resource }: Plan): Capture | null {
  const service = resource.attributes.get('service.name') ?? null
  if (service === null) return { keys: new WordRun([]), texts: fixedTexts([]) }
  const [name, text] = readyEntry('service.name', service)
  if (text.length > METADATA_BOUNDS.valueUnits) return null
  return { keys: new WordRun([name]), texts: fixedTexts([text]) }
}

/** After the others, so that a key the span has itself is not overwritten. Returns those that tell about the conversation. */
function putCarried(
  { keys, dialects }: Plan,
  used: ReadonlySet<number>,
  isTaken: (name: string) => boolean | null,
  put: Put,
): (readonly [number, string])[] {
  const attached: (readonly [number, string])[] = []
  for (const [at, { key, facts }] of keys.entries()) {
    const name = facts.carried
    if (name === null || used.has(at) || isContent(facts, dialects)) continue
    if (!facts.ofSpan) attached.push([at, name])
    const taken = isTaken(name)
    if (taken !== null) put(taken ? key : name, at, '', null, facts.literal)
  }
  return attached
}

/** Attributes that went into a field, by position. */
function usedBy({ used: taken, usage, input, output, positions }: Plan, decided: Decided): Set<number> {
  const used = new Set<number>()
  const use = (key: string): void => {
    const at = positions.get(key)
    if (at !== undefined) used.add(at)
  }
  for (const key of taken) use(key)
  for (const place of [input.places[decided.input], output.places[decided.output]]) {
    if (place === undefined) continue
    for (const at of place.family ?? []) used.add(at)
    if (place.at >= 0) used.add(place.at)
  }
  if (!decided.counts) return used
  for (const amount of usage?.amounts ?? []) if (typeof amount?.rule.source === 'string') use(amount.rule.source)
  return used
}

/** `metadata` that holds an object is merged key by key; false when that is not simple. */
function putObject({ metadata: value }: Plan, steps: ReadonlyMap<string, Step>, at: number, put: Put): boolean {
  const object = typeof value === 'string' ? readExactJsonText(value) : value
  if (!isObject(object)) {
    put('metadata', at)
    return true
  }
  for (const key of Object.keys(object)) {
    const [name, text] = readyEntry(key, object[key])
    if (name !== key) return false
    if (!steps.has(key)) put(name, -1, text)
  }
  return true
}

function remarksOf({ kind, name, spanKind, statusCode }: Plan): Step[] {
  const remarks: Step[] = []
  if (kind.name !== name && name !== '') remarks.push(remark('span_name', name))
  const word = spanKindNames[spanKind] ?? ''
  if (word !== '') remarks.push(remark('span_kind', word))
  if (statusCode === 1) remarks.push(remark('status', 'ok'))
  return remarks
}

function remark(name: string, text: string): Step {
  return { name: OWN_PREFIX + name, at: -1, side: null, text, literal: false, secret: false }
}
