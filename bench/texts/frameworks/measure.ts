// How large the store of each form is: the same conversations as different instrumentations write them, through the real parsers into the
// real schema, merged, beside the bytes of their exports as JSON.
import type { Store } from '#store/client.ts'
import { table } from '../../stats.ts'
import { arrive, type Engine } from '../arrive.ts'
import { diskOf, largestOf, mergeAll, tablesOf } from '../disk.ts'
import { exportsOf } from './exports.ts'
import type { Form } from './form.ts'
import { forms } from './forms.ts'

/** What is measured: of each form so many spans, calls of models told of so many tools. */
export interface Asked {
  readonly spans: number
  readonly tools: number
}

/** Runs `work` on a store of its own. */
export type InStore = <T>(work: (store: Store) => Promise<T>) => Promise<T>

interface Measured {
  readonly form: string
  readonly spans: number
  readonly sent: number
  readonly disk: number
  readonly line: readonly string[]
}

const LARGEST = 16
const HEADER = [
  ...['form', 'spans', 'spans a request', 'JSON, bytes a span', 'of it resource and scope', 'said once'],
  ...['on disk, bytes a span', 'events', 'texts', 'others', 'JSON, times'],
  ...['CPU µs a span: worker', 'insert', 'merge'],
]

/** Measures every form and prints what each takes, then all beside each other. */
export async function measureFrameworks(
  engine: Engine,
  inStore: InStore,
  wanted: (name: string) => boolean,
  asked: Asked,
): Promise<void> {
  const all: Measured[] = []
  for (const form of forms.filter(({ name }) => wanted(name))) {
    const measured = await inStore(store => measureForm(engine, store, form, asked))
    all.push(measured)
    console.error(measured.line.join(' | '))
  }
  if (all.length === 0) return
  const sum = (of: 'sent' | 'disk'): number => all.reduce((total, each) => total + each[of] / each.spans, 0)
  console.log(
    `\n${table(
      HEADER,
      all.map(({ line }) => line),
    )}`,
  )
  console.log(`\nof equal numbers of spans of each form: ${(sum('sent') / sum('disk')).toFixed(2)} times\n`)
}

async function measureForm(
  engine: Engine,
  store: Store,
  form: Form,
  { spans: count, tools }: Asked,
): Promise<Measured> {
  const sum = { spans: 0, requests: 0, sentBytes: 0, aroundBytes: 0, newBytes: 0, worker: 0, insert: 0 }
  let number = 0
  for (const exported of exportsOf(form, count, tools)) {
    for (const key of ['spans', 'requests', 'sentBytes', 'aroundBytes', 'newBytes'] as const) sum[key] += exported[key]
    const { worker, insert } = await arrive(engine, store, exported, ++number)
    sum.worker += worker
    sum.insert += insert
  }
  const before = await engine.cpu()
  await mergeAll(store)
  const merge = (await engine.cpu()) - before
  const [{ bytes: disk }, tables, parts] = [await diskOf(store), await tablesOf(store), await largestOf(store, LARGEST)]
  const a = (total: number): string => (total / sum.spans).toFixed(1)
  const us = (seconds: number): string => ((seconds * 1e6) / sum.spans).toFixed(0)
  const columns = parts.map(({ name, plain, bytes }) => [name, a(plain), a(bytes)])
  console.log(`\n${form.name}, merged\n\n${table(['', 'bytes a span, plain', 'on disk'], columns)}\n`)
  const of = (name: string): number => tables.get(name) ?? 0
  const line = [
    ...[form.name, String(sum.spans), (sum.spans / sum.requests).toFixed(0)],
    ...[a(sum.sentBytes), a(sum.aroundBytes), a(sum.newBytes), a(disk), a(of('events')), a(of('texts'))],
    ...[a(disk - of('events') - of('texts')), (sum.sentBytes / disk).toFixed(2)],
    ...[us(sum.worker), us(sum.insert), us(merge)],
  ]
  return { form: form.name, spans: sum.spans, sent: sum.sentBytes, disk, line }
}
