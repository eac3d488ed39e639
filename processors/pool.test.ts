import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { silentLog, tempDir } from '#test/rig.ts'
import { bisect } from './bisect.ts'
import { checksumOf } from './checksum.ts'
import { envelopeOf, someEvents } from './fixture.ts'
import { letGo } from './let-go.ts'
import type { ParsePool } from './pool.ts'
import { createPool, idleTime } from './pool.ts'
import type { StreamMessage } from './reader.ts'
import { plainReadings } from './readings.ts'

const messageOf = (data: Uint8Array, sequence = 1): StreamMessage => ({
  sequence,
  storedAtMs: 0,
  data,
  weight: data.length,
})

const request = {
  partition: 0,
  generation: 1,
  classes: {},
  reading: plainReadings.now(),
  dead: [],
  repeats: null,
  judge: () => [],
  undo: () => {},
}

t.test('bisect finds the guilty ones and asks about few groups', async t => {
  const f = async (n: number, guilty: readonly number[]): Promise<number> => {
    let questions = 0
    const items = Array.from({ length: n }, (_, i) => i)
    const found = await bisect(items, async group => {
      questions++
      return group.some(item => guilty.includes(item))
    })
    t.same(found, guilty)
    return questions
  }
  await f(0, [])
  await f(10, [])
  await f(7, [0, 6])
  t.ok((await f(1024, [321])) <= 21)
})

t.test('blocks of a large range are written into memory that is used again when they are let go', async t => {
  const worker = new URL('./fixture-worker.ts', import.meta.url)
  const pool = createPool({ worker, threads: 1, frameTimeoutMs: 20_000, heapMb: 128, log: silentLog })
  t.teardown(() => pool.close())
  const data = envelopeOf(someEvents(5_000), undefined, 1_780_000_000_000)
  t.ok(data.length > 1024 * 1024)
  const bodiesOf = async (): Promise<readonly Uint8Array[]> => {
    const parsed = await pool.parse({ ...request, messages: [messageOf(data)] })
    if (!('blocks' in parsed)) throw new Error('no blocks')
    for (const { body, checksum } of parsed.blocks) t.equal(checksumOf(body), checksum)
    return parsed.blocks.map(({ body }) => body)
  }
  const first = await bodiesOf()
  const memory = first[0]?.buffer
  t.type(memory, SharedArrayBuffer)
  const second = await bodiesOf()
  t.not(second[0]?.buffer, memory, 'the first range is not stored yet')
  t.ok(first.every((body, i) => Buffer.compare(body, second[i] as Uint8Array) === 0))
  letGo(first)
  const third = await bodiesOf()
  t.equal(third[0]?.buffer, memory)
  t.ok(third.every((body, i) => Buffer.compare(body, second[i] as Uint8Array) === 0))
})

t.test('the same messages and verdicts give the same bytes, in any thread', async t => {
  const make = (): ParsePool => {
    const worker = new URL('./fixture-worker.ts', import.meta.url)
    const pool = createPool({ worker, threads: 2, frameTimeoutMs: 2_000, heapMb: 128, log: silentLog })
    t.teardown(() => pool.close())
    return pool
  }
  const data = envelopeOf([...someEvents(50), { session_id: 'no uuid', user_data: {} }], undefined, 1_780_000_000_000)
  const [a, b] = [make(), make()]
  const results = await Promise.all(
    [a, a, b].map(async pool => {
      const parsed = await pool.parse({ ...request, messages: [messageOf(data)] })
      if (!('blocks' in parsed)) throw new Error('no blocks')
      return parsed.blocks.map(({ table, rows, checksum }) => `${table} ${rows} ${checksum}`)
    }),
  )
  t.equal(results[0]?.length, 3)
  t.same(results[1], results[0])
  t.same(results[2], results[0])
  const some = await a.parse({ ...request, repeats: [[0, 9]], messages: [messageOf(data)] })
  t.match(some, {
    blocks: [
      { table: 'sessions', rows: 1 },
      { table: 'texts', rows: 40 },
      { table: 'events', rows: 40 },
    ],
  })
})

t.test("an operator's names are masked in every thread", async t => {
  const worker = new URL('./worker.ts', import.meta.url)
  const heapMb = 128
  const pool = createPool({
    worker,
    threads: 1,
    frameTimeoutMs: 10_000,
    heapMb,
    secretKeys: ['shop_pin'],
    log: silentLog,
  })
  t.teardown(() => pool.close())
  const events = someEvents(1).map(event => ({ ...event, metadata: { shop_pin: '1234' } }))
  const parsed = await pool.parse({ ...request, messages: [messageOf(envelopeOf(events))] })
  if (!('blocks' in parsed)) throw new Error('no blocks')
  const rows = parsed.blocks.map(block => Buffer.from(block.body).toString()).join('\n')
  t.match(rows, /shop_pin[^]*\[masked\]/)
  t.notMatch(rows, '1234')
})

t.test('threads that cannot start blame no payload', async t => {
  const file = join(await tempDir(t), 'worker.mjs')
  await writeFile(file, 'process.exit(1)')
  const pool = createPool({
    worker: pathToFileURL(file),
    threads: 1,
    frameTimeoutMs: 500,
    heapMb: 128,
    log: silentLog,
  })
  const undone = new Promise<void>(resolve => {
    void pool.parse({ ...request, messages: [messageOf(envelopeOf(someEvents(3)))], undo: resolve }).then(
      parsed => t.fail(JSON.stringify(parsed)),
      () => {},
    )
  })
  await undone
  await pool.close()
  t.pass('no verdict')
})

t.test('a process that was stopped does not take the pause for a thread that hangs', t => {
  const idle = idleTime(1_000)
  t.equal(idle(0, false, 1_100), 100)
  t.equal(idle(1, false, 1_200), 0, 'progress')
  t.equal(idle(1, false, 1_300), 100)
  t.equal(idle(1, false, 61_300), 300, 'a minute without a look')
  t.equal(idle(1, true, 61_400), 0, 'it waits for an answer')
  t.equal(idle(1, false, 61_500), 100)
  t.end()
})
