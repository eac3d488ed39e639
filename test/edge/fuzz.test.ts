// A million raw requests (`npm test`: one in thirty) at both ports of a receiver with a query node behind it, and at the query node itself:
// the processes are the same afterwards, answer, have thrown nothing and hold nothing.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { openLine } from '#test/edge/raw.ts'
import { throwRequests } from '#test/edge/throw.ts'
import { post } from '#test/http.ts'
import { eventually, startSystem } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'

const REQUESTS = scaled({ sample: 30_000, full: 1_000_000 })
const AT_QUERY_NODE = scaled({ sample: 6_000, full: 200_000 })
const SEED = 26_112_026

const system = await startSystem(t, { processors: 0 })
const [receiver] = system.receivers
if (receiver === undefined) throw new Error('there is a receiver')
const ports = [Number(receiver.about.port), Number(receiver.about.otlpPort)]
const queryPort = Number(system.query.about.port)

/** When a process began, in ticks since the machine did (proc(5)). */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}

const metrics = async (opsPort: number): Promise<string> => (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()

/** The sum of a metric over its labels. */
const sumOf = (text: string, name: string): number =>
  [...text.matchAll(new RegExp(`^parley_${name}\\{.*\\} (\\S+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  )

const served = async (): Promise<number[]> => {
  const headers = { 'x-org-id': system.organization }
  const taken = await post(
    `${system.baseUrl}/api/v1/capture-session`,
    { session_id: randomUUID(), user_data: { user_id: 'ada' } },
    headers,
  )
  const asked = { headers: { 'x-api-key': system.apiKey } }
  const read = await fetch(`${system.baseUrl}/dashboard/api/organization/summary`, asked)
  const direct = await fetch(`${system.queryUrl}/dashboard/api/organization/summary`, asked)
  return [taken.status, read.status, direct.status]
}

t.test('what is not legal in a request is refused with 400, on either port and by the query node', async t => {
  const f = async (first: string, header = 'X: y'): Promise<void> => {
    for (const port of [...ports, queryPort]) {
      const line = openLine(port)
      line.write(`${first} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`)
      t.match(await line.answered(1), [{ status: 400 }], JSON.stringify([first, header, port === queryPort]))
      if (port === queryPort) t.match(line.answers()[0]?.body, '"code":"REQ_HEAD_INVALID"')
      line.destroy()
    }
  }
  await f('GET /\xff')
  await f('GET /caf\xc3\xa9')
  await f('GET /\xe6\x97\xa5\xe6\x9c\xac')
  await f('GET /dashboard/api/live?after=\xe6\x97\xa5\xe6\x9c\xac')
  await f('GET /dashboard/api/live?after=\xff')
  await f('GET /dashboard/api/live?after=\x7f')
  await f('GET /openapi.json', 'X-Name: a\x7fb')
  await f('GET /openapi.json', 'X-Name: a\x01b')
  t.strictSame(await served(), [200, 200, 200])
})

t.test('bytes beyond ASCII are legal in the value of a header, and change nothing', async t => {
  for (const value of ['caf\xe9', 'caf\xc3\xa9', '\xe6\x97\xa5\xe6\x9c\xac', 'a\tb']) {
    const line = openLine(ports[0] as number)
    line.write(`GET /openapi.json HTTP/1.1\r\nHost: x\r\nX-Name: ${value}\r\n\r\n`)
    t.match(await line.answered(1), [{ status: 200 }], JSON.stringify(value))
    line.destroy()
  }
})

t.test('any requests at all: the same processes, and nothing is left of it', async t => {
  const pids = [receiver.pid, system.query.pid]
  const before = await Promise.all(pids.map(startOf))
  const startedAt = performance.now()
  await Promise.all(ports.map((port, at) => throwRequests(port, REQUESTS / 2, SEED + at)))
  await throwRequests(queryPort, AT_QUERY_NODE, SEED + 2)
  t.comment(`${REQUESTS} and ${AT_QUERY_NODE} requests in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  t.strictSame(await Promise.all(pids.map(startOf)), before, 'the processes that were there')
  t.strictSame(await served(), [200, 200, 200], 'they answer')
  const text = await metrics(receiver.opsPort)
  t.ok(
    sumOf(text, 'ingest_requests_total') > REQUESTS / 4,
    `${sumOf(text, 'ingest_requests_total')} were read as requests`,
  )
  t.equal(sumOf(text, 'ingest_exceptions_total'), 0, 'nothing was thrown')
  t.equal([...receiver.logs().matchAll(/a request could not be handled/g)].length, 0)
  t.equal([...system.query.logs().matchAll(/"level":"?(?:50|error)/g)].length, 0, 'nor in the query node')
  await eventually('nothing is held', async () => {
    const now = await metrics(receiver.opsPort)
    const held = ['ingest_forwarded', 'ingest_collected_bytes', 'ingest_pending_bytes'].map(name => sumOf(now, name))
    return held.every(amount => amount === 0)
  })
})
