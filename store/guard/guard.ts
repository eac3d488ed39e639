// SQL that a tenant or a model wrote -> its canonical text, or everything in it that is not allowed. Default-deny over the engine's own
// parse: the parser that judges a statement is the one that runs it. It is judged by its form alone: no name is looked up for it, no
// constant folded and no subquery run, so that what is refused has done nothing.
import { text } from 'node:stream/consumers'
import { ClickHouseError } from '@clickhouse/client'
import type { Store } from '#store/client.ts'
import { TENANT_VIEWS } from '#store/wall/tables.ts'
import {
  ALLOWED_FUNCTIONS,
  AST_KINDS,
  CASTS,
  HIGHER_ORDER,
  isAllowedFunction,
  isAllowedType,
  MEMBERSHIPS,
  TREE_KINDS,
} from './allowed.ts'
import { identifiersOf } from './identifiers.ts'
import { saidPlainly, syntaxPosition } from './plain-errors.ts'
import type { TreeNode } from './tree.ts'
import { parseTree, walk } from './tree.ts'

/** One thing that is not allowed. */
export interface Violation {
  readonly kind: 'text' | 'syntax' | 'statement' | 'identifier' | 'clause' | 'function' | 'table' | 'name'
  /** What it is, as it was written where that is known. */
  readonly what: string
  /** Where in the text it stands first, in characters; null when it stands nowhere by that name. */
  readonly position: number | null
  readonly hint: string
}

/** What the guard says of a statement. */
export type Verdict =
  | { readonly ok: true; readonly canonical: string }
  | { readonly ok: false; readonly violations: readonly Violation[] }

/** Judges statements. */
export interface Guard {
  /** @throws whatever the store throws when it cannot be asked; a fault of the statement is a violation. */
  check(sql: string, signal?: AbortSignal): Promise<Verdict>
}

/** Longest statement, in bytes. */
export const SQL_MAX_BYTES = 32 * 1024
/** An engine that was made newer is asked again after so long: to read its list of functions takes it longer than to parse a statement. */
const TOLD_MS = 60_000
/** Most violations that are listed. */
const LISTED_MAX = 20

const VIEWS = new Set(TENANT_VIEWS.map(view => view.name))
const VIEW_LIST = [...VIEWS].join(', ')
/** Names that a statement may give: nothing that could look like a line of the engine's explanations. */
const NAME = /^[\w .:@-]{1,64}$/
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0085\u2028\u2029]/

type Found = Omit<Violation, 'position'>

/** Makes a guard. `store` asks as the user of tenants' SQL, with the views' database as its own. */
export function createGuard({ store }: { store: Store }): Guard {
  let told: { readonly names: ReadonlySet<string>; readonly atMs: number } | undefined
  const higherOrder = async (signal?: AbortSignal): Promise<ReadonlySet<string>> => {
    if (told === undefined || performance.now() - told.atMs > TOLD_MS) {
      told = { names: await higherOrderOf(store, signal), atMs: performance.now() }
    }
    return told.names
  }
  return {
    check: async (sql, signal) => {
      const refuse = (found: readonly Found[]): Verdict => ({ ok: false, violations: placed(found, sql) })
      const unfit = textFault(sql)
      if (unfit) return refuse([unfit])
      let canonical: string | undefined
      try {
        canonical = await canonicalOf(store, sql, signal)
        const form = formFaults(canonical)
        if (form.length > 0) return refuse(form)
        // Both explain the parse alone: nothing is looked up or computed for them.
        const [ast, tree, taking] = await Promise.all([
          explain(store, `EXPLAIN AST ${canonical}`, signal),
          explain(store, `EXPLAIN QUERY TREE run_passes = 0 ${canonical}`, signal).then(parseTree),
          higherOrder(signal),
        ])
        const own = ownTables(tree)
        // The tree first: it knows a table function from a function.
        const faults = [...treeFaults(tree, taking), ...tableFaults(tree, own), ...astFaults(ast, own)]
        return faults.length > 0 ? refuse(faults) : { ok: true, canonical }
      } catch (error) {
        if (!(error instanceof ClickHouseError) || signal?.aborted) throw error
        const position = canonical === undefined ? syntaxPosition(error, sql) : null
        const hint = 'The store cannot read the statement.'
        return { ok: false, violations: [{ kind: 'syntax', what: saidPlainly(error, sql), position, hint }] }
      }
    },
  }
}

/** Lines of an explanation. Without a FORMAT, which would become part of what is explained: tab-separated, special characters escaped. */
async function explain(store: Store, sql: string, signal: AbortSignal | undefined): Promise<string[]> {
  const { stream } = await store.client.exec({ query: sql, ...(signal ? { abort_signal: signal } : {}) })
  return (await text(stream)).split('\n').filter(line => line !== '')
}

/**
 * Functions, in lower case, of which an argument may be a function: those of the list, and of what is allowed whatever the engine calls
 * so or doesn't know about. An engine that says nothing of the kind has no such column.
 */
async function higherOrderOf(store: Store, signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
  const rows = await store.read<{ name: string; higher_order?: number | null }>(
    `SELECT lower(name) AS name, COLUMNS('^higher_order$') FROM system.functions WHERE NOT is_aggregate AND name IN ({names:Array(String)})`,
    { parameters: { names: ALLOWED_FUNCTIONS }, ...(signal ? { signal } : {}) },
  )
  const told = rows.filter(row => row.higher_order !== undefined && row.higher_order !== 0).map(row => row.name)
  return new Set([...told, ...[...HIGHER_ORDER].map(name => name.toLowerCase())])
}

function textFault(sql: string): Found | undefined {
  const hint = 'Send one SELECT as plain sql.'
  if (Buffer.byteLength(sql) > SQL_MAX_BYTES) return { kind: 'text', what: `more than ${SQL_MAX_BYTES} bytes`, hint }
  if (sql.trim() === '') return { kind: 'text', what: 'nothing', hint }
  if (!sql.isWellFormed() || sql.includes('\ufffd')) return { kind: 'text', what: 'broken UTF-8', hint }
  return CONTROL.test(sql) ? { kind: 'text', what: 'a control character', hint } : undefined
}

/** The text as the engine writes it: one spelling, no comments. */
async function canonicalOf(store: Store, sql: string, signal: AbortSignal | undefined): Promise<string> {
  const rows = await store.read<{ canonical: string }>('SELECT formatQuerySingleLine({text:String}) AS canonical', {
    parameters: { text: sql },
    ...(signal ? { signal } : {}),
  })
  return (rows[0] as { canonical: string }).canonical
}

function formFaults(canonical: string): Found[] {
  if (!/^\(*(?:SELECT|WITH)\s/.test(canonical)) {
    return [{ kind: 'statement', what: canonical.slice(0, 20), hint: 'Only a single SELECT may be asked.' }]
  }
  if (CONTROL.test(canonical) || /[\n\r]/.test(canonical)) {
    return [{ kind: 'text', what: 'a control character', hint: 'Leave it out of names.' }]
  }
  return identifiersOf(canonical)
    .filter(name => !NAME.test(name))
    .map(what => ({ kind: 'identifier', what, hint: 'Names have up to 64 letters, digits, spaces and _.:@-' }))
}

function astFaults(ast: readonly string[], own: ReadonlySet<string>): Found[] {
  const faults: Found[] = []
  // FORMAT and INTO OUTFILE show only as more children of the first line.
  if (!/^SelectWithUnionQuery \(children 1\)$/.test(ast[0] ?? '')) {
    faults.push({ kind: 'clause', what: 'FORMAT, INTO OUTFILE or SETTINGS', hint: 'Leave the clause out.' })
  }
  for (const line of ast) {
    const [, kind = '', rest = ''] = /^\s*(\w+)(?: (.*))?$/.exec(line) ?? []
    if (!AST_KINDS.has(kind))
      faults.push({ kind: 'clause', what: kind || line.trim(), hint: 'The clause is not allowed.' })
    else if (kind === 'Function') {
      const name = rest.split(' ')[0] ?? ''
      if (!isAllowedFunction(name)) faults.push(functionFault(name))
    } else if (kind === 'TableIdentifier') {
      const name = rest.split(' (')[0] ?? ''
      if (!VIEWS.has(name) && !own.has(name)) faults.push(tableFault(name))
    }
  }
  return faults
}

const functionFault = (what: string): Found => ({
  kind: 'function',
  what,
  hint: 'The function is not among those that are allowed; see docs/sql.md.',
})

const tableFault = (what: string): Found => ({ kind: 'table', what, hint: `There are ${VIEW_LIST}.` })

/** Kinds of nodes, functions, and what functions are given. */
function treeFaults(root: TreeNode, higherOrder: ReadonlySet<string>): Found[] {
  const faults: Found[] = []
  for (const { node } of walk(root)) {
    if (node.id === undefined) continue
    if (!TREE_KINDS.has(node.kind)) {
      const what = node.fields.table_function_name ?? node.kind
      const hint =
        node.kind === 'TABLE_FUNCTION'
          ? `Table functions are not allowed; read ${VIEW_LIST}.`
          : 'The clause is not allowed.'
      faults.push({ kind: node.kind === 'TABLE_FUNCTION' ? 'table' : 'clause', what, hint })
    }
    if (node.kind === 'MATCHER' && /REGEXP|COLUMNS/i.test(node.fields.matcher_type ?? '')) {
      faults.push({ kind: 'clause', what: 'COLUMNS', hint: 'Name the columns.' })
    }
    if (node.kind === 'FUNCTION') faults.push(...callFaults(node, higherOrder))
  }
  return faults
}

/** A function that is called, and those of its arguments by which more could be called or read than is written. */
function callFaults(node: TreeNode, higherOrder: ReadonlySet<string>): Found[] {
  const written = node.fields.function_name ?? ''
  if (!isAllowedFunction(written)) return [functionFault(written)]
  const name = written.toLowerCase()
  const given = node.children.find(child => child.kind === 'ARGUMENTS')?.children[0]?.children ?? []
  const [first, second] = given
  // With one argument it is the array.
  if (higherOrder.has(name) && given.length > 1 && first?.kind !== 'LAMBDA') {
    return [{ kind: 'function', what: written, hint: 'Its first argument must be a lambda such as x -> x + 1.' }]
  }
  if (CASTS.has(name) && !isAllowedType(constantOf(second))) {
    return [
      { kind: 'function', what: written, hint: 'Its second argument must be a plain type such as Nullable(Float64).' },
    ]
  }
  // A name of one part can only be a view, something that the statement defines, or a column.
  const right = second?.kind === 'IDENTIFIER' ? (second.fields.identifier ?? '') : ''
  return MEMBERSHIPS.has(name) && right.includes('.') ? [tableFault(right)] : []
}

/** A string that stands in the statement, without its quotes and escapes; empty for anything else. */
function constantOf(node: TreeNode | undefined): string {
  if (node?.kind !== 'CONSTANT') return ''
  return /^'(.*)'$/.exec((node.fields.constant_value ?? '').replaceAll('\\', ''))?.[1] ?? ''
}

/** What the engine reads where there is no FROM: one row of nothing. */
const NO_TABLE = 'system.one'
const TABLE_PLACES = new Set([
  'JOIN TREE',
  'LEFT TABLE EXPRESSION',
  'RIGHT TABLE EXPRESSION',
  'TABLE EXPRESSION',
  'TABLE EXPRESSIONS',
])

/** Names that WITH gives to queries. */
const ownTables = (root: TreeNode): ReadonlySet<string> =>
  new Set([...walk(root)].flatMap(({ node }) => node.fields.cte_name ?? []))

/** Tables by the names that they are asked by: views, and what the statement itself defines under another name. */
function tableFaults(root: TreeNode, own: ReadonlySet<string>): Found[] {
  const faults: Found[] = []
  for (const name of own) {
    if (VIEWS.has(name)) faults.push({ kind: 'name', what: name, hint: 'WITH must not take the name of a view.' })
    // Where the name is not defined, one with a dot is a table of another database.
    if (name.includes('.')) faults.push({ kind: 'name', what: name, hint: 'The name of a query must not have a dot.' })
  }
  for (const { node, parent } of walk(root)) {
    if (node.kind !== 'IDENTIFIER' || !TABLE_PLACES.has(parent?.kind ?? '')) continue
    const name = node.fields.identifier ?? ''
    if (!VIEWS.has(name) && !own.has(name) && name !== NO_TABLE) faults.push(tableFault(name))
  }
  return faults
}

/** Each thing once, as what it was first seen, with its place in what was sent. */
function placed(faults: readonly Found[], sql: string): Violation[] {
  const seen = new Set<string>()
  return faults.flatMap(fault => {
    if (seen.has(fault.what) || seen.size >= LISTED_MAX) return []
    seen.add(fault.what)
    const at = sql.toLowerCase().indexOf(fault.what.toLowerCase())
    return { ...fault, what: fault.what.slice(0, 300), position: at < 0 || fault.what === '' ? null : at }
  })
}
