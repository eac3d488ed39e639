// Senders that mean harm or are broken, and servers with small limits: they cost a receiver bounded memory (what they stall: `npm run bench -- bomb`), and honest
// senders beside them are answered.
import { randomBytes, randomUUID } from 'node:crypto'
import { connect as connectSocket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { startChild } from '#local/child.ts'
import { freePort } from '#local/ports.ts'
import { applyStreams } from '#streams/apply.ts'
import { post } from '#test/http.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { connectNats, createTenant, eventually, startPart, tempDir, testLimits } from '#test/rig.ts'

const MiB = 1024 * 1024
const SESSION = '/api/v1/capture-session'
const system = await startReceiverSystem(t)
const receiver = await system.startReceiver({
  PARLEY_RATE_REQUESTS: '1000000',
  PARLEY_MAX_PENDING_BYTES: String(64 * MiB),
})
const org = { 'x-org-id': system.organization }
const url = `${receiver.baseUrl}${SESSION}`
const port = Number(receiver.about.port)

async function metrics(opsPort = receiver.opsPort): Promise<string> {
  return (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
}

async function figure(name: string): Promise<number> {
  const line = (await metrics()).split('\n').find(one => one.startsWith(`parley_${name}{`))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

const session = () => ({ session_id: randomUUID(), client_config: 'x' })
const body = (size: number): string => JSON.stringify({ ...session(), client_config: 'x'.repeat(size) })

t.test('gzip bombs are refused by ratio and by size', async t => {
  const gzip = { ...org, 'content-encoding': 'gzip' }
  const bomb = gzipSync(Buffer.alloc(64 * MiB, 'x'))
  t.ok((64 * MiB) / bomb.length > 900)
  const small = gzipSync(Buffer.alloc(4 * MiB, 'x'))
  const members = Buffer.concat(Array.from({ length: 20 }, () => small))
  const before = await figure('process_resident_memory_bytes')
  for (let round = 0; round < 3; round++) {
    const bombs = [bomb, small, members].flatMap(one => [one, one])
    for (const answer of await Promise.all(bombs.map(one => post<{ error: string }>(url, one, gzip)))) {
      t.strictSame(
        [answer.status, answer.body.error],
        [413, 'Request body too large: at most 16777216 bytes after decompression, 200:1 at most'],
      )
    }
  }
  t.ok((await figure('process_resident_memory_bytes')) - before < 400 * MiB, 'far less than the 900 MiB inside')
  // The last bytes go a moment after the last answer.
  await eventually('nothing of them is kept', async () => (await figure('ingest_pending_bytes')) === 0)
  const honest = gzipSync(body(3 * MiB - 1000).replaceAll('x'.repeat(1000), () => randomBytes(375).toString('base64')))
  t.equal((await post(url, honest, gzip)).status, 200)
  t.equal((await post(url, gzipSync(body(900_000)), gzip)).status, 200, 'a small one may be as repetitive as it likes')
})

t.test('slow headers, slow bodies and headers without an end are cut, and others are served meanwhile', async t => {
  const open = (first: string) => {
    const socket = connectSocket(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(first)
    const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
    return { socket, closed }
  }
  const head = `POST ${SESSION} HTTP/1.1\r\nhost: x\r\nx-org-id: ${system.organization}\r\n`
  const slowHeads = Array.from({ length: 20 }, () => open(head))
  const slowBodies = Array.from({ length: 20 }, () => open(`${head}content-length: 100000\r\n\r\n{"session_id"`))
  const endless = open(`${head}x-filler: `)
  const filler = setInterval(() => endless.socket.write('x'.repeat(1000)), 10)
  t.teardown(() => clearInterval(filler))
  await endless.closed
  clearInterval(filler)
  const started = performance.now()
  while (performance.now() - started < 1_000) t.equal((await post(url, session(), org)).status, 200)
  await Promise.all([...slowHeads, ...slowBodies].map(one => one.closed))
  await eventually('nothing of them is kept', async () => (await figure('ingest_pending_bytes')) === 0)
  t.match(
    await metrics(),
    /parley_ingest_requests_total\{endpoint="capture-session",status="aborted",part="receiver"\} 20/,
  )
})

t.test('an organization over its rate hears 429 and when to come back; others do not', async t => {
  const startedAt = performance.now()
  const limited = await system.startReceiver({ PARLEY_RATE_REQUESTS: '2', PARLEY_RATE_BYTES: '1000000' })
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => post<{ error: string }>(`${limited.baseUrl}${SESSION}`, session(), org)),
  )
  const refused = answers.filter(answer => answer.status === 429)
  // However long the machine takes for these, more than two a second may not pass.
  const seconds = (performance.now() - startedAt) / 1000
  const passed = answers.length - refused.length
  t.ok(refused.length > 0 && passed >= 2 && passed <= 2 + 2 * seconds, `${passed} passed in ${seconds} s`)
  t.equal(answers.filter(answer => answer.status === 200).length, 60 - refused.length)
  t.match(refused[0]?.body.error, /sends more than it may/)
  const headers = (name: string) => refused[0]?.headers.get(name)
  t.equal(headers('retry-after'), '1')
  t.equal(headers('ratelimit-policy'), '"requests";q=2;w=1, "bytes";q=1000000;w=1;qu="content-bytes"')
  t.equal(headers('ratelimit'), '"requests";r=0;t=1')
  const other = await post(`${limited.otelUrl}/v1/traces`, {}, { 'x-service-org-id': system.inactive })
  t.equal(other.status, 401)
  t.match(
    await metrics(limited.opsPort),
    /ingest_refused_total\{endpoint="capture-session",code="ING_RATE",part="receiver"\}/,
  )
  const lines = (): number => limited.logs().split('ING_RATE').length - 1
  await eventually('a line', () => lines() > 0)
  t.ok(lines() <= 1 + (performance.now() - startedAt) / 10_000, 'one line for all of ten seconds')
})

t.test(
  'a NATS server of another operator with a 1 MB limit: larger payloads travel compressed, or are told',
  async t => {
    const [dir, natsPort] = [await tempDir(t), await freePort()]
    const nats = startChild({
      command: 'nats-server',
      args: ['-js', '-sd', dir, '-a', '127.0.0.1', '-p', String(natsPort)],
      env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/bin` },
      output: { file: `${dir}/nats.log` },
      ipc: false,
    })
    t.teardown(async () => {
      nats.kill('SIGKILL')
      await nats.exited
    })
    const natsUrl = `nats://127.0.0.1:${natsPort}`
    const nc = await connectNats(t, natsUrl)
    const { buckets } = await applyStreams(nc, { ...testLimits })
    const headers = { 'x-org-id': (await createTenant(buckets)).organization }
    const part = await startPart(t, 'ingest/main.ts', {
      NATS_URL: natsUrl,
      CLICKHOUSE_URL: 'http://127.0.0.1:1',
      PARLEY_PORT: '0',
      PARLEY_OTLP_PORT: '0',
      PARLEY_ENVELOPE_BYTES: String(8 * MiB),
    })
    const target = `http://127.0.0.1:${String(part.about.port)}${SESSION}`
    const many = await Promise.all(Array.from({ length: 40 }, () => post(target, body(200_000), headers)))
    t.ok(
      many.every(answer => answer.status === 200),
      'envelopes stay below the limit',
    )
    t.equal((await post(target, body(5 * MiB), headers)).status, 200)
    const random = { ...session(), client_config: randomBytes(MiB).toString('base64') }
    const refused = await post<{ error: string }>(target, random, headers)
    t.equal(refused.status, 413)
    t.match(refused.body.error, /does not fit one message even when compressed/)
  },
)
