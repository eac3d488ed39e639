// The steps of a processor that others can see: what it sends over its sockets and what it is answered. Shared by the preloaded
// tripwire and by the tests that set it.

/** `send`: before the bytes leave; `sent`: when the kernel has them; `answer`: bytes arrived and nobody has read them. */
export type Phase = 'send' | 'sent' | 'answer'

/** The n-th time (from 1) that something is sent or answered. */
export interface Step {
  readonly phase: Phase
  readonly what: string
  readonly nth: number
}

/** What happens to a process at a step. A process that is stopped tells of the step first, and goes on with it when continued. */
export interface Trap {
  readonly step: Step
  readonly signal: 'SIGKILL' | 'SIGSTOP'
}

/** From test to process: mind this trap, or (null) only tell of each step. Counting starts here. */
export interface ArmMessage {
  readonly type: 'arm'
  readonly trap: Trap | null
}

/** From process to test: the trap of the last `arm` is set. */
export interface ArmedMessage {
  readonly type: 'armed'
}

/** From process to test. */
export interface StepMessage {
  readonly type: 'step'
  readonly step: Step
}

/** Name of a step in a table. */
export function nameOf({ phase, what, nth }: Step): string {
  const words = { send: 'before sending', sent: 'after sending', answer: 'answer arrived to' }
  return `${words[phase]} ${what}${nth > 1 ? ` (${nth})` : ''}`
}

/** Publishes that matter, by subject. Leases are renewed by the clock, so they stand at no certain place. */
const SUBJECTS: readonly (readonly [RegExp, string])[] = [
  [/^\$KV\.cursors\./, 'cursor'],
  [/^dead\./, 'dead letter'],
  [/^blocks\./, 'block record'],
]

const STREAM_ANSWERS: readonly (readonly [RegExp, string])[] = [
  [/"stream":"KV_cursors"/, 'cursor'],
  [/"stream":"DEAD"/, 'dead letter'],
  [/"stream":"BLOCKS"/, 'block record'],
  [/(?:^|\n)H?MSG ingest\./, 'payloads'],
]

const STATEMENTS: readonly (readonly [RegExp, string])[] = [
  [/INSERT(?:\+|%20| )INTO(?:\+|%20| )(sessions|texts|events)\b/, 'insert'],
  [/substring\(SHA1/, 'window query'],
  [/FROM system\.processes/, 'settle query'],
  [/groupUniqArray\(_part\)/, 'count query'],
  [/ALTER TABLE/, 'deletion'],
]

/** What a NATS write holds: the subjects of its publishes that matter. */
export function publishesIn(text: string): string[] {
  const subjects = [...text.matchAll(/(?:^|\r\n)H?PUB (\S+) /g)].map(match => match[1] as string)
  return subjects.flatMap(subject => SUBJECTS.find(([pattern]) => pattern.test(subject))?.[1] ?? [])
}

/** What bytes from NATS answer. */
export function answersIn(text: string): string[] {
  return STREAM_ANSWERS.flatMap(([pattern, what]) => (pattern.test(text) ? [what] : []))
}

/** What an HTTP request asks of ClickHouse, undefined for what doesn't matter. */
export function statementIn(text: string): string | undefined {
  for (const [pattern, what] of STATEMENTS) {
    const match = pattern.exec(text)
    if (match) return match[1] === undefined ? what : `${what} of ${match[1]}`
  }
  return undefined
}
