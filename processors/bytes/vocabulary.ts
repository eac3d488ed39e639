// What the compiled rules make of an attribute key -> how its value takes part in deciding what a span is. Nothing here is written by
// hand for one dialect: what only ever flows into one field, whatever it holds, is told from what decides.

import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { METADATA_BOUNDS } from '../parsers/metadata.ts'
import { billingKeys, isAmountKey } from '../parsers/otlp/billing.ts'
import type { Source } from '../parsers/otlp/dialect.ts'
import { dialects } from '../parsers/otlp/dialects.ts'
import { contentFields, eventNamesRead, eventRules, type KeyFacts, keyFacts } from '../parsers/otlp/keys.ts'
import { allRules, type Rule } from '../parsers/otlp/rules.ts'
import { failureKeys } from '../parsers/otlp/signs.ts'
import { isSecretName } from '../parsers/secrets.ts'

/**
 * What a value decides.
 * - `metadata`: nothing but whether it is there
 * - `amount`: a number that is an amount is taken as such, whichever it is
 * - `id`: a plain text is taken as such
 * - `content`: input or output, read anew for every span
 * - `exact`: anything: spans are alike only when they hold the same
 */
export type Role = 'metadata' | 'amount' | 'id' | 'content' | 'exact'

/** What is known about a key. */
export interface KeyInfo {
  readonly key: string
  readonly facts: KeyFacts
  readonly role: Role
  /** A text that is no amount here decides about the price. */
  readonly amountKey: boolean
}

/** Longest key, and longest id that is taken as it is. */
export const WORD_BYTES = 256

const amountFields: ReadonlySet<string> = new Set([
  ...['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost'],
])
const idFields: ReadonlySet<string> = new Set(['session_id', 'user_id', 'user_email'])
const errorFields: ReadonlySet<string> = new Set(['error_type', 'error_message'])

/** Keys that a source reads besides the one that its rule is found by, and those that it looks into. */
function looksInto(source: Source): string[] {
  if (typeof source === 'string') return []
  if ('json' in source) return [source.json]
  return 'sum' in source ? source.sum.flatMap(looksInto) : []
}

function addends(source: Source): string[] {
  return typeof source === 'object' && 'sum' in source
    ? source.sum.flatMap(part => (typeof part === 'string' ? [part] : addends(part)))
    : []
}

const deciding: ReadonlySet<string> = new Set([
  ...allRules.flatMap(({ source }) => looksInto(source)),
  ...failureKeys,
  ...billingKeys,
  // Read by name where names of resources and prompts are found, and where a body of metadata is taken apart.
  ...['mcp.resource.uri', 'gen_ai.prompt.name', 'metadata'],
  ...dialects.flatMap(({ requests }) => (requests === undefined ? [] : [requests.method])),
  ...dialects.flatMap(({ innerAgents }) => (innerAgents === undefined ? [] : [innerAgents.turn, innerAgents.own])),
])
const added: ReadonlySet<string> = new Set(allRules.flatMap(({ source }) => addends(source)))

function roleOf(key: string, { rules, values }: KeyFacts): Role {
  if (deciding.has(key) || values !== null) return 'exact'
  const all = (fields: ReadonlySet<string>, fits: (rule: Rule) => boolean): boolean =>
    rules.every(rule => fields.has(rule.field) && fits(rule))
  const plain = ({ source, dialect, literal }: Rule): boolean =>
    (typeof source === 'string' || 'root' in source) && dialect?.jsonValues !== true && !literal
  if (rules.length === 0) return added.has(key) ? 'amount' : 'metadata'
  if (all(amountFields, rule => plain(rule) || isSumOfKeys(rule))) return 'amount'
  if (added.has(key)) return 'exact'
  if (all(idFields, plain)) return 'id'
  return all(contentFields, () => true) ? 'content' : 'exact'
}

/** A sum of attributes, whose own keys are all found in `added`. */
export function isSumOfKeys({ source, dialect }: Rule): boolean {
  if (typeof source !== 'object' || !('sum' in source) || dialect?.jsonValues === true) return false
  return source.sum.every(part => typeof part === 'string')
}

const eventNumbers: ReadonlyMap<string, number> = new Map(
  eventNamesRead.map((name, i) => {
    const open = eventRules(name).every(({ field }) => contentFields.has(field) || errorFields.has(field))
    return [name, open ? i : -2]
  }),
)

/** A number for the name of events that may say something; -1 = nothing reads them, -2 = they are left to the way of objects. */
export const eventNumber = (name: string): number => eventNumbers.get(name) ?? -1

/** What is known about a key; null for one whose spans are left to the way of objects. */
export function keyInfo(key: string, bytes: Buffer): KeyInfo | null {
  if (bytes.length > WORD_BYTES || !isName(key) || !Buffer.from(key).equals(bytes)) return null
  const facts = keyFacts(key)
  return { key, facts, role: roleOf(key, facts), amountKey: isAmountKey(key) }
}

/** False for what cannot be a key of metadata like others: remarks have their own, and numbers are sorted before all of them. */
export function isName(name: string): boolean {
  return !name.startsWith(OWN_PREFIX) && !/^\d+$/.test(name) && name.length <= METADATA_BOUNDS.keyUnits
}

/** True when the value under a key of metadata is masked, whatever it is. */
export const isSecret = isSecretName
