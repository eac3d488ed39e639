// An answer that is more than its body: a status of its own, and headers such as cookies and the place to go on to.
import type { Readable } from 'node:stream'

export class Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: unknown

  constructor(
    body: unknown,
    options: { status?: number; headers?: Readonly<Record<string, string | readonly string[]>> } = {},
  ) {
    this.body = body
    this.status = options.status ?? 200
    this.headers = options.headers ?? {}
  }
}

/** An answer whose bytes come from elsewhere. Nobody else reads or ends the stream. */
export class Piped {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly stream: Readable

  constructor(stream: Readable, options: { status: number; headers: Readonly<Record<string, string>> }) {
    this.stream = stream
    this.status = options.status
    this.headers = options.headers
  }
}

/** A redirect. */
export const redirectTo = (location: string, cookies: readonly string[] = []): Reply =>
  new Reply(null, { status: 302, headers: { location, ...(cookies.length === 0 ? {} : { 'set-cookie': cookies }) } })
