// Limits of reads: one deadline for several, rows a minute, and who is told what. The store here answers when it is told to.
import t from 'tap'
import type { ErrorCode } from '#proto/errors.ts'
import { isParleyError } from '#proto/errors.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { settingsOfClass } from '#store/classes.ts'
import type { ReadOptions, Store } from '#store/client.ts'
import { createCores } from '#store/cores.ts'
import { silentLog } from '#test/rig.ts'
import { createAllowance } from './allowance.ts'
import type { Reader, ReaderLimits } from './reader.ts'
import { createReaders } from './reader.ts'
import { answeredBy } from './reads/sql.ts'

const LIMITS: ReaderLimits = {
  maxSeconds: 1,
  maxMemoryMb: 64,
  maxRows: 1000,
  organizationQueries: 2,
  organizationRows: 0,
  organizationSeconds: 0,
}

// The timer of a deadline keeps no process alive, and nothing else runs here.
const awake = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(awake))

function readerOver(read: (options: ReadOptions) => Promise<unknown[]>, signal: AbortSignal, limits = LIMITS): Reader {
  const store = { read: async (_sql: string, options: ReadOptions) => read(options) } as unknown as Store
  return createReaders({ storeOf: () => store, limits, metrics: createMetrics('query'), log: silentLog })('o', signal)
}

/** A query that runs until it is cancelled. */
const endless = ({ signal }: ReadOptions): Promise<unknown[]> =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
    if (signal?.aborted) reject(new Error('aborted'))
  })

async function codeOf(reading: Promise<unknown>): Promise<ErrorCode | 'none'> {
  try {
    await reading
    return 'none'
  } catch (error) {
    if (isParleyError(error)) return error.code
    throw error
  }
}

t.test('reads under one deadline end together, those that wait for their turn as well', async t => {
  const reader = readerOver(endless, new AbortController().signal).bounded()
  const codes = await Promise.all([1, 2, 3].map(n => codeOf(reader.read('events', `SELECT ${n}`))))
  t.strictSame(codes, ['QRY_LIMIT', 'QRY_LIMIT', 'QRY_LIMIT'])
  t.equal(await codeOf(reader.read('events', 'SELECT 1')), 'QRY_LIMIT', 'nothing begins after it')
})

t.test('a client that leaves is no deadline', async t => {
  const controller = new AbortController()
  const whole = readerOver(endless, controller.signal, { ...LIMITS, maxSeconds: 600 })
  const codes = [whole, whole.bounded()].map(reader => codeOf(reader.read('events', 'SELECT 1')))
  controller.abort()
  t.strictSame(await Promise.all(codes), ['QRY_CANCELLED', 'QRY_CANCELLED'])
})

/** A reader that notes the settings of what it is asked, and finds nothing. */
function askedReader() {
  const asked: ReadOptions['settings'][] = []
  const reader = readerOver(async ({ settings }) => {
    asked.push(settings)
    return []
  }, new AbortController().signal)
  return { reader, asked }
}

t.test('limits go along with every query', async t => {
  let settings: ReadOptions['settings']
  const reader = readerOver(async options => {
    settings = options.settings
    return []
  }, new AbortController().signal)
  await reader.read('events', 'SELECT 1')
  t.match(settings, { readonly: '2', max_execution_time: 1, max_rows_to_read: '1000', read_overflow_mode: 'throw' })
  t.match(settings, {
    http_wait_end_of_query: 1,
    http_response_buffer_size: '1048576',
    output_format_parallel_formatting: 0,
  })
})

t.test('every question has the limits of its class', async t => {
  const { reader, asked } = askedReader()
  await reader.read('events', 'SELECT 1')
  await reader.read('chart', 'SELECT 1')
  await reader.read('chart', 'SELECT 1', {}, settingsOfClass('export'))
  t.match(asked, [
    { max_threads: 2, max_final_threads: 1, max_memory_usage: String(32 * 1024 * 1024), priority: '1' },
    { max_threads: 8, max_final_threads: 8, max_memory_usage: String(64 * 1024 * 1024), priority: '1' },
    { max_threads: 1, max_final_threads: 1 },
  ])
})

t.test('no query has more threads than its store has cores, which is asked once', async t => {
  const asked: (readonly [string, ReadOptions['settings']])[] = []
  let answers = false
  const store = {
    read: async (sql: string, { settings }: ReadOptions = {}) => {
      asked.push([sql, settings])
      if (!sql.includes('max_threads')) return []
      if (!answers) throw new Error('the store is away')
      return [{ cores: 2 }]
    },
  } as unknown as Store
  const read = createReaders({
    ...{ storeOf: () => store, coresOf: createCores(), limits: LIMITS },
    ...{ metrics: createMetrics('query'), log: silentLog },
  })('o', new AbortController().signal)
  await read.read('chart', 'SELECT 1')
  answers = true
  await read.read('chart', 'SELECT 2')
  await read.read('events', 'SELECT 3')
  const threads = asked.map(([sql, settings]) => [sql, settings?.max_threads, settings?.max_final_threads])
  t.strictSame(threads, [
    [`SELECT getSetting('max_threads') AS cores`, undefined, undefined],
    ['SELECT 1', 8, 8],
    [`SELECT getSetting('max_threads') AS cores`, undefined, undefined],
    ['SELECT 2', 2, 2],
    ['SELECT 3', 2, 1],
  ])
})

t.test('a query that the store does not end is given up when its time is over', async t => {
  const reader = readerOver(endless, new AbortController().signal, { ...LIMITS, maxSeconds: 0.05 })
  t.equal(await codeOf(reader.read('chart', 'SELECT 1')), 'QRY_LIMIT')
})

t.test('who has kept the store busy for longer than it may is told so', async t => {
  const limits = { ...LIMITS, organizationSeconds: 1e-9 }
  const reader = readerOver(
    () => new Promise(resolve => setTimeout(() => resolve([]), 2)),
    new AbortController().signal,
    limits,
  )
  t.equal(await codeOf(reader.read('chart', 'SELECT 1')), 'none', 'how long it takes is known when it has ended')
  t.equal(await codeOf(reader.read('chart', 'SELECT 1')), 'QRY_RATE')
})

t.test('a statement that names no projection is planned without any', async t => {
  const { reader, asked } = askedReader()
  await reader.read('events', 'SELECT 1')
  await reader.read('costs', `SELECT 1 ${answeredBy('priced')}`)
  await reader.read('events', 'SELECT 1', {}, { optimize_use_projections: 1 })
  t.strictSame(
    asked.map(settings => settings?.optimize_use_projections),
    [0, undefined, 1],
  )
})

t.test('who has read more rows than it may is told so, until some have come back', async t => {
  let nowMs = 0
  const allowance = createAllowance(600, 'rows', () => nowMs)
  const f = (organization: string, code: ErrorCode | 'none', afterS?: number): void => {
    let found: [ErrorCode | 'none', number | undefined] = ['none', undefined]
    try {
      allowance.require(organization)
    } catch (error) {
      if (isParleyError(error)) found = [error.code, error.afterS]
    }
    t.strictSame(found, [code, afterS], `${organization} at ${nowMs} ms`)
  }
  f('a', 'none')
  allowance.spend('a', 500)
  f('a', 'none')
  allowance.spend('a', 200)
  f('a', 'QRY_RATE', 11)
  f('b', 'none')
  nowMs = 9_000
  f('a', 'QRY_RATE', 2)
  nowMs = 11_000
  f('a', 'none')
  nowMs = 1_000_000
  f('a', 'none')
  allowance.spend('a', 600)
  f('a', 'QRY_RATE', 1)
  t.doesNotThrow(() => createAllowance(0, 'rows').require('a'))
})

t.test('rows that the engine says it read are counted for the organization', async t => {
  const limits = { ...LIMITS, organizationRows: 100 }
  const signal = new AbortController().signal
  const reader = readerOver(
    async ({ onRows }) => {
      onRows?.(1_000_000)
      return []
    },
    signal,
    limits,
  )
  t.equal(await codeOf(reader.read('events', 'SELECT 1')), 'none', 'the first one is known when it has ended')
  t.equal(await codeOf(reader.read('events', 'SELECT 1')), 'QRY_RATE')
})
