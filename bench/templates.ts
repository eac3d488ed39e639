// Bodies with a gap -> the file from which unique.lua makes whole requests that all differ.
import { writeFile } from 'node:fs/promises'
import type { Load } from './bodies.ts'

/** Length of the gap in the body: the number is written as text or as bytes. */
export const GAP_BYTES = { hex: 8, bin: 4 } as const

/** Writes the requests of a load for one organization. */
export async function writeTemplates(file: string, load: Load, organization: string): Promise<void> {
  const parts: Buffer[] = [Buffer.from(`${load.number}\n`)]
  for (const { bytes, gapAt } of load.bodies) {
    const head = [
      `POST ${load.path} HTTP/1.1`,
      'Host: 127.0.0.1',
      `${load.organizationHeader}: ${organization}`,
      `Content-Type: ${load.contentType}`,
      `Content-Length: ${bytes.length}`,
      '\r\n',
    ].join('\r\n')
    const request = Buffer.concat([Buffer.from(head), bytes])
    parts.push(Buffer.from(`${request.length} ${head.length + gapAt}\n`), request)
  }
  await writeFile(file, Buffer.concat(parts))
}
