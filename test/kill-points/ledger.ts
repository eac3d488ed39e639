// What was acknowledged, and what the store makes of it: payloads go in as they are sent, and the store is asked whether exactly
// their rows are there, in every table and in every projection.

import type { FrameParser } from '#processors/outcome.ts'
import { parsers } from '#processors/registry.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { NIL_UUID, uuidBytes } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'
import {
  heldBy,
  heldColumnsOf,
  TABLES as PROJECTED,
  type Projection,
  projectionsOf,
} from '#store/verify/projections.ts'

const ENVELOPE_MAX_BYTES = 8 * 1024 * 1024
/** More ids than this are read in sixteen parts, by their first digit, so that no answer is large. */
const ONE_ANSWER_MAX = 50_000

/** One payload, as a client sends it. */
export interface Payload {
  readonly kind: keyof typeof FrameKind
  readonly organization: string
  readonly body: Uint8Array
}

/** A payload of an object, or of text that need not be JSON. */
export function payload(kind: Payload['kind'], organization: string, body: object | string): Payload {
  return { kind, organization, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }
}

/** One stream message of payloads that arrived at `receivedAtMs`. */
export function envelopeOf(payloads: readonly Payload[], receivedAtMs: number): Uint8Array {
  const writer = new EnvelopeWriter(ENVELOPE_MAX_BYTES)
  for (const { kind, organization, body } of payloads) {
    writer.append(FrameKind[kind], FrameEncoding.json, uuidBytes(organization), receivedAtMs, null, body)
  }
  return writer.finish().slice()
}

/**
 * The rows that acknowledged payloads must have become: those of the first payload of each identity, as the parsers read it. Ids
 * are counted, because a payload without an identity makes the same rows each time.
 */
export class Ledger {
  readonly organizations = new Set<string>()
  readonly events = new Map<string, number>()
  readonly texts = new Map<string, number>()
  readonly links = new Map<string, number>()
  readonly sessions = new Map<string, number>()
  /** Payloads that are dead letters, units that were there before, and all units. */
  dead = 0
  repeats = 0
  units = 0
  /** Ids of identities, by kind and organization: the same strings as the keys above, so that a million cost little. */
  readonly #seen = new Map<string, Set<string>>()

  /** Enters a payload that a stream has acknowledged. Returns false when it can never become rows. */
  enter({ kind, organization, body }: Payload, receivedAtMs: number): boolean {
    this.organizations.add(organization)
    const parse: FrameParser = parsers[kind]
    const outcome = parse(body, 'json', { organization, receivedAtMs, mintedId: NIL_UUID, retention: 0 })
    if ('dead' in outcome) {
      this.dead++
      return false
    }
    for (const unit of outcome.units) {
      this.units++
      if (unit.identity && !this.#isNew(`${unit.identity.kind}:${organization}`, unit.identity.id)) {
        this.repeats++
        continue
      }
      for (const row of unit.events) count(this.events, row.event_id)
      for (const row of unit.texts) count(this.texts, row.event_id)
      for (const row of unit.links ?? []) count(this.links, row.trace_id)
      for (const row of unit.sessions) count(this.sessions, row.conversation_id)
    }
    return true
  }

  #isNew(kind: string, id: string): boolean {
    let ids = this.#seen.get(kind)
    if (!ids) this.#seen.set(kind, (ids = new Set()))
    return ids.size < ids.add(id).size
  }
}

function count(into: Map<string, number>, id: string): void {
  into.set(id, (into.get(id) ?? 0) + 1)
}

/** What is wrong with one table or projection; a ledger that the store agrees with has none. */
export interface Difference {
  readonly where: string
  /** Ids that should be there and are not, ids that are there too often, ids that nobody sent; or what a projection says. */
  readonly lost: number
  readonly doubled: number
  readonly strange: number
  readonly detail: string
}

/** Compares a ledger with the store, row by row, and every projection with its table, once all parts have theirs. Empty when all is exact. */
export async function differences(store: Store, ledger: Ledger): Promise<Difference[]> {
  return [...(await rowDifferences(store, ledger)), ...(await projectionDifferences(store, ledger.organizations))]
}

/** Compares a ledger with the rows of every table. */
export async function rowDifferences(store: Store, ledger: Ledger): Promise<Difference[]> {
  const organizations = [...ledger.organizations]
  const found: Difference[] = []
  const tables = [
    ['events', 'event_id', 'sum(sign)', ledger.events],
    ['texts', 'event_id', 'count()', ledger.texts],
    ['links', 'trace_id', 'count()', ledger.links],
    ['sessions', 'conversation_id', 'count()', ledger.sessions],
  ] as const
  for (const [table, id, n, expected] of tables) {
    const sql = `SELECT toString(${id}) AS id, toInt32(${n}) AS n FROM ${table}
      WHERE organization IN ({organizations:Array(UUID)}) AND startsWith(toString(${id}), {digit:String})
      GROUP BY ${id} HAVING n != 0`
    found.push(...(await compare(store, { table, sql, organizations, expected })))
  }
  return found
}

/**
 * Compares every projection with its table, where it concerns these organizations, once all parts have theirs. Each projection costs
 * two statements and building it more: whoever asks after several loads asks once for all of them.
 */
export async function projectionDifferences(store: Store, organizations: Iterable<string>): Promise<Difference[]> {
  const found: Difference[] = []
  const whose = [...organizations]
  for (const table of PROJECTED) await buildProjections(store, table)
  for (const projection of await allProjections(store)) {
    const difference = await (projection.type === 'Aggregate' ? compareGroups : compareRows)(store, projection, whose)
    if (difference) found.push(difference)
  }
  return found
}

/** Reads the table itself, every id of it. */
async function compare(
  store: Store,
  ask: { table: string; sql: string; organizations: string[]; expected: ReadonlyMap<string, number> },
): Promise<Difference[]> {
  const { table, sql, organizations, expected } = ask
  let seen = 0
  let lost = 0
  let doubled = 0
  let strange = 0
  let detail = ''
  for (const digit of expected.size > ONE_ANSWER_MAX ? '0123456789abcdef' : ['']) {
    const settings = { optimize_use_projections: 0 } as const
    for (const { id, n } of await store.read<{ id: string; n: number }>(sql, {
      parameters: { organizations, digit },
      settings,
    })) {
      const right = expected.get(id)
      if (right !== undefined) seen++
      if (n === right) continue
      if (right === undefined) strange++
      else if (n > right) doubled++
      else lost++
      detail ||= `${id} is there ${n} times instead of ${right ?? 0}`
    }
  }
  lost += expected.size - seen
  if (seen < expected.size) detail ||= `${expected.size - seen} of ${expected.size} ids are not there`
  return lost + doubled + strange === 0 ? [] : [{ where: table, lost, doubled, strange, detail }]
}

/** Every projection of the tables that blocks are stored in, as the engine itself describes them. */
export async function allProjections(store: Store): Promise<Projection[]> {
  const tables = ['events', 'texts', 'sessions']
  const projections = (await Promise.all(tables.map(table => projectionsOf(store, table)))).flat()
  if (projections.length < 8) throw new Error(`only ${projections.length} projections were found`)
  return projections
}

/** The answer from the projection must be the answer from the rows, in every group and every sum. */
async function compareGroups(
  store: Store,
  projection: Projection,
  whose: readonly string[],
): Promise<Difference | null> {
  const [rows, held] = await Promise.all([groupsOf(store, projection, whose), heldGroupsOf(store, projection, whose)])
  if (rows.groups === held.groups && rows.digest === held.digest) return null
  const detail = `from rows ${JSON.stringify(rows)}, from the projection ${JSON.stringify(held)}`
  return { where: `${projection.table}.${projection.name}`, lost: 0, doubled: 0, strange: 1, detail }
}

/** How many groups, and a digest of all of them. */
interface Groups {
  readonly groups: string
  readonly digest: string
}

const WITHIN = 'WHERE organization IN ({organizations:Array(UUID)})'

/** The projection's own query over the rows. */
function groupsOf(store: Store, { query, table }: Projection, whose: readonly string[]): Promise<Groups> {
  return digestOf(store, query.replace(' GROUP BY ', ` FROM ${table} ${WITHIN} GROUP BY `), whose)
}

/** What the projection itself holds: the planner would not take one whose granules are smaller than those of a small table. */
export async function heldGroupsOf(store: Store, projection: Projection, whose: readonly string[]): Promise<Groups> {
  const { outputs, groups } = await heldColumnsOf(store, projection)
  const sql = `SELECT ${outputs.join(', ')} FROM ${heldBy(store, projection)} ${WITHIN} GROUP BY ${groups.join(', ')}`
  return digestOf(store, sql, whose)
}

async function digestOf(store: Store, grouped: string, organizations: readonly string[]): Promise<Groups> {
  const [found] = await store.read<Groups>(`SELECT count() AS groups, sum(cityHash64(*)) AS digest FROM (${grouped})`, {
    parameters: { organizations },
    settings: { optimize_use_projections: 0 },
  })
  return found as Groups
}

/** A projection that holds rows must hold those of its table. */
async function compareRows(
  store: Store,
  { table, name, query }: Projection,
  organizations: readonly string[],
): Promise<Difference | null> {
  const columns = /^SELECT (.*) ORDER BY /.exec(query)?.[1]
  if (columns === undefined) throw new Error(`the projection ${name} is no list of columns: ${query}`)
  const parameters = { organizations, database: store.database, table, name }
  const ask = async (from: string) => {
    const sql = `SELECT count() AS n, sum(cityHash64(${columns})) AS digest FROM ${from}
      WHERE organization IN ({organizations:Array(UUID)})`
    return (
      await store.read<{ n: string; digest: string }>(sql, { parameters, settings: { optimize_use_projections: 0 } })
    )[0]
  }
  const [rows, held] = await Promise.all([ask(table), ask(heldBy(store, { table, name }))])
  if (rows?.n === held?.n && rows?.digest === held?.digest) return null
  const detail = `from rows ${JSON.stringify(rows)}, from the projection ${JSON.stringify(held)}`
  return { where: `${table}.${name}`, lost: 0, doubled: 0, strange: 1, detail }
}

/** The sentence for a test or a table. */
export function describe(found: readonly Difference[]): string[] {
  return found.map(
    ({ where, lost, doubled, strange, detail }) =>
      `${where}: ${lost} lost, ${doubled} doubled, ${strange} strange (${detail})`,
  )
}
