// What the launcher shows: lines while it works, and one block when it is ready.
import { randomUUID } from 'node:crypto'
import { relative } from 'node:path'

/** What the ready block names. */
export interface ReadyFacts {
  readonly baseUrl: string
  readonly otelUrl: string
  readonly organization: string
  readonly apiKey: string
  readonly email: string
  readonly password: string | undefined
  readonly dataDir: string
  readonly tookMs: number
}

/** The block that is printed once everything works: where, who, and three commands that can be pasted as they are. */
export function readyBlock(facts: ReadyFacts, colour: boolean): string {
  const bold = (text: string): string => (colour ? `\u001b[1m${text}\u001b[22m` : text)
  const dim = (text: string): string => (colour ? `\u001b[2m${text}\u001b[22m` : text)
  const { baseUrl, otelUrl, organization, apiKey, email, password } = facts
  const session = randomUUID()
  const json = `-H 'content-type: application/json'`
  const ingest = `-H 'x-org-id: ${organization}' ${json}`
  const dir = relative('.', facts.dataDir) || '.'
  const folder = dir.startsWith('..') ? facts.dataDir : dir
  return `
${bold('parley is ready')} ${dim(`after ${(facts.tookMs / 1000).toFixed(1)} s`)}

  REST interface   ${bold(baseUrl)}
  trace collector  ${bold(otelUrl)}
  organization     ${organization}
  API key          ${apiKey}
  sign in          ${email}, ${password === undefined ? 'with the password that you have set' : `password ${password}`}

A session, an event in it, and both read back:

  curl -s ${baseUrl}/api/v1/capture-session ${ingest} \\
    -d '{"session_id":"${session}","user_data":{"user_id":"ada"}}'

  curl -s ${baseUrl}/api/v1/capture-event ${ingest} \\
    -d '{"event_id":"${randomUUID()}","session_id":"${session}","primitive_name":"support","args":"Where is my order?","result":"On its way.","latency":812}'

  sleep 1; curl -s ${baseUrl}/dashboard/api/user-stories -H 'x-api-key: ${apiKey}' ${json} -d '{}'

${dim(`Data, logs and local.json are in ${folder}. Ctrl-C stops everything; the data stays.`)}
`
}

/** An address that a client on this machine can use for a listening address. */
export function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
