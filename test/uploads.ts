// Uploads that fetch cannot make: in chunks without a length, and broken off.
import { randomBytes } from 'node:crypto'
import * as http from 'node:http'

/** Posts chunks without a Content-Length. */
export function sendChunked(
  url: string,
  headers: Record<string, string>,
  chunks: readonly Buffer[],
): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', headers }, response => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => {
        resolve({ status: response.statusCode, body: JSON.parse(Buffer.concat(parts).toString()) })
      })
    })
    request.on('error', reject)
    for (const chunk of chunks) request.write(chunk)
    request.end()
  })
}

/** Begins uploads and goes away in the middle of them. */
export async function abortUploads(url: string, headers: Record<string, string>, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, () => {
      return new Promise<void>(resolve => {
        const request = http.request(url, { method: 'POST', headers })
        request.on('error', () => resolve())
        request.on('close', () => resolve())
        request.write(randomBytes(1000), () => request.destroy())
      })
    }),
  )
}
