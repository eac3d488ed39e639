// Takes what exporters send: every request to a path that ends in /v1/traces or an exporter's own trace path is kept as it came
// (after gunzip), everything else is answered and forgotten.
import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

/** One export request. */
export interface Export {
  readonly path: string
  readonly encoding: 'json' | 'protobuf'
  readonly body: Buffer
}

/** A sink that is not yet listening; `exports` grows with every request. */
export function createSink(): { server: Server; exports: Export[] } {
  const exports: Export[] = []
  const server = createServer((request, response) => {
    void buffer(request).then(sent => {
      const path = request.url ?? '/'
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      const encoding = (request.headers['content-type'] ?? '').includes('protobuf') ? 'protobuf' : 'json'
      if (!/\/v1\/(metrics|logs)$/.test(path) && request.method === 'POST') exports.push({ path, encoding, body })
      response.writeHead(200, { 'content-type': encoding === 'json' ? 'application/json' : 'application/x-protobuf' })
      response.end(encoding === 'json' ? '{}' : '')
    })
  })
  return { server, exports }
}
