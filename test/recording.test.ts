// A call's recording from the report to the listener, through receiver and query node: the address is ours, and ranges arrive whole.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { ReceiptResponse } from '#proto/dashboard/ledger.ts'
import { startSystem } from '#test/rig.ts'

const SOUND = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 253))

t.test('what a platform recorded is heard at an address of the installation', async t => {
  const platform = createServer((request, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const piece = from === undefined ? SOUND : SOUND.subarray(Number(from), Number(to) + 1)
    response.writeHead(from === undefined ? 200 : 206, {
      ...{ 'content-type': 'audio/wav', 'content-length': piece.length },
      ...(from === undefined ? {} : { 'content-range': `bytes ${from}-${to}/${SOUND.length}` }),
    })
    response.end(piece)
  }).listen(0, '127.0.0.1')
  await once(platform, 'listening')
  t.teardown(() => {
    platform.closeAllConnections()
    platform.close()
  })
  const host = `127.0.0.1:${(platform.address() as AddressInfo).port}`
  const { baseUrl, organization, apiKey } = await startSystem(t, { env: { PARLEY_OUTGOING_PRIVATE_HOSTS: host } })
  const headers = { 'x-api-key': apiKey }

  const report = await fetch(`${baseUrl}/api/voice/v1/webhooks/voice-platform`, {
    method: 'POST',
    headers: { 'x-org-id': organization, 'content-type': 'application/json' },
    body: JSON.stringify({
      message: {
        type: 'end-of-call-report',
        call: { id: 'call-1', customer: { number: '+15550100' } },
        artifact: { transcript: 'AI: Hello.\nUser: Hi.', recordingUrl: `http://${host}/one.wav` },
      },
    }),
  })
  const { session_id } = (await report.json()) as { session_id: string }
  const receipt = report.headers.get('x-parley-receipt')
  const stored = await fetch(`${baseUrl}/dashboard/api/receipts/${receipt}?wait=30s`, { headers })
  t.match((await stored.json()) as ReceiptResponse, { state: 'stored' })

  const answer = await fetch(`${baseUrl}/dashboard/api/conversation-audio?session_id=${session_id}`, { headers })
  const { url } = (await answer.json()) as { url: string }
  t.notMatch(url, host, 'the platform stays out of it')
  const address = baseUrl + new URL(url).pathname
  const whole = await fetch(address)
  t.match([whole.status, whole.headers.get('content-type')], [200, 'audio/wav'])
  t.strictSame(Buffer.from(await whole.arrayBuffer()), SOUND)
  const part = await fetch(address, { headers: { range: 'bytes=1000-200999' } })
  t.match([part.status, part.headers.get('content-range')], [206, `bytes 1000-200999/${SOUND.length}`])
  t.strictSame(Buffer.from(await part.arrayBuffer()), SOUND.subarray(1_000, 201_000))
})
