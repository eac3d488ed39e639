// Requests as strangers may write them: a request that means something, and then anything done to its method, target, headers, framing or
// bytes. The same seed makes the same requests.
import type { Random } from '#proto/scan/fuzz/random.ts'

const TARGETS = [
  ...[
    '/',
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/nothing',
    '//',
    '/auth/sign-in',
    '/auth/methods',
    '/auth/callback?code=a',
  ],
  ...['/api/v1/capture-session', '/api/v1/capture-event', '/api/voice/v1/webhooks/voice-platform', '/v1/traces'],
  ...[
    '/v1/metrics',
    '/v1/logs',
    '/api/public/otel/v1/traces',
    '/dashboard/api/live?after=0',
    '/dashboard/api/raw-logs',
  ],
  ...[
    '/dashboard/api/organization/summary',
    '/dashboard/api/exports/abc',
    '/dashboard/api/views/1',
    '/dashboard/api/users/a%20b',
  ],
  ...['*', 'http://other.example/', '/%zz', '/a?b=%00', '/#', '/..//../etc', '/?'],
] as const
const METHODS = [
  ...['GET', 'GET', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'PRI', 'get'],
] as const
const NAMES = [
  ...[
    'X-Name',
    'X-Api-Key',
    'Authorization',
    'X-Org-Id',
    'X-Service-Org-ID',
    'Content-Type',
    'Content-Encoding',
    'Cookie',
  ],
  ...['Connection', 'Upgrade', 'Expect', 'TE', 'Trailer', 'Origin', 'Accept', 'X-Forwarded-For', 'X-Request-Id'],
  ...['Keep-Alive', 'Proxy-Connection', 'HTTP2-Settings', 'Last-Event-ID', 'Range', 'If-None-Match'],
] as const
const VALUES = [
  ...[
    '',
    'a',
    'close',
    'keep-alive',
    'upgrade',
    'content-length',
    'x-api-key',
    'h2c',
    '100-continue',
    'trailers',
    'gzip',
  ],
  ...[
    'Bearer abc',
    'Bearer ',
    'application/json',
    'application/x-protobuf',
    'text/plain; charset',
    '192.0.2.1',
    '0',
    '-1',
  ],
  ...[
    '6f1c2c52-0d4e-4c3f-9a59-3b0a1f6a7a10',
    'Basic YTpi',
    'bytes=0-',
    '*/*',
    '\u00e9',
    '\u00e6\u0097\u00a5',
    'a\x7fb',
    'a\tb',
  ],
] as const
const BODIES = [
  '',
  '{}',
  '[]',
  '{"a":1}',
  'a=b',
  '\0\x01\x02',
  '{"session_id":"x"}',
  '0\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
] as const

/** One request; the bytes are those of its characters. */
export function anyRequest({ below: chance, pick: of }: Random): string {
  const oneIn = (cases: number): boolean => chance(cases) === 0
  // Mostly what a parser lets through: the rest of the way is longer.
  const noise = (): string =>
    Array.from({ length: 1 + chance(4) }, () => String.fromCharCode(oneIn(8) ? chance(33) : 33 + chance(223))).join('')
  const spoilt = (text: string): string => {
    const at = chance(text.length + 1)
    return text.slice(0, at) + noise() + text.slice(at + chance(2))
  }

  const method = oneIn(30) ? spoilt(of(METHODS)) : of(METHODS)
  let target: string = of(TARGETS)
  if (oneIn(3)) target = spoilt(target)
  if (oneIn(400)) target += 'x'.repeat(chance(6_000))
  const headers = oneIn(40) ? [] : ['Host: x']
  for (let more = chance(4); more > 0; more--) {
    const [name, value] = [of(NAMES), of(VALUES)]
    headers.push(
      `${oneIn(20) ? spoilt(name) : name}${oneIn(50) ? of([' :', ':', '']) : ': '}${oneIn(6) ? spoilt(value) : value}`,
    )
  }
  if (oneIn(60)) headers.push(of(['Host: y', 'Content-Length: 0', 'Content-Length: 2', 'Transfer-Encoding: chunked']))
  if (oneIn(500)) for (let more = chance(150); more > 0; more--) headers.push(`X-${more}: a`)
  let body = ''
  const framing = chance(24)
  if (framing < 8 && method !== 'GET') {
    body = of(BODIES)
    headers.push(`Content-Length: ${body.length}`)
  } else if (framing < 10) {
    body = of(BODIES)
    headers.push('Transfer-Encoding: chunked')
    body = body === '' ? '0\r\n\r\n' : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  } else if (framing === 10) {
    body = of(BODIES)
    headers.push(
      `Content-Length: ${of(['1', '99999999', '-1', '+1', 'a', '', '0x1', '1, 1', '18446744073709551617', '2 '])}`,
    )
  } else if (framing === 11) {
    body = of(BODIES)
    headers.push(
      `Transfer-Encoding: ${of(['chunked', 'xchunked', 'gzip, chunked', 'identity', '', 'chunked\x0b', ' chunked'])}`,
    )
    if (oneIn(2)) headers.push(`Content-Length: ${body.length}`)
  }
  const end = oneIn(100) ? of(['\n', '\r', '\r\r\n', '\0\r\n']) : '\r\n'
  const version = oneIn(100) ? of(['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 ', 'http/1.1', 'HTTP/9', '']) : 'HTTP/1.1'
  const whole = `${method} ${target} ${version}${end}${headers.join(end)}${end}${end}${body}`
  return oneIn(40) ? spoilt(whole) : whole
}
