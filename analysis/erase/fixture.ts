// Dead letters as processors write them.
import { jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { headers } from '@nats-io/transport-node'
import { DeadHeader } from '#proto/dead.ts'
import { FrameKind } from '#proto/envelope.ts'
import { deadSubjectOf } from '#proto/streams.ts'

let sequence = 0

/** Publishes one. */
export async function publishDeadLetter(
  nc: NatsConnection,
  letter: { organization: string; body: Uint8Array; encoding: number },
): Promise<void> {
  const h = headers()
  const fields: Record<keyof typeof DeadHeader, string> = {
    code: 'DEAD_PARSE',
    reason: 'a test',
    organization: letter.organization,
    kind: String(FrameKind.session),
    encoding: String(letter.encoding),
    partition: '0',
    sequence: String(++sequence),
    frame: '0',
    receivedAt: '0',
    mintedId: '',
    cut: '',
  }
  for (const [name, value] of Object.entries(fields))
    if (value !== '') h.set(DeadHeader[name as keyof typeof DeadHeader], value)
  await jetstream(nc).publish(deadSubjectOf(0), letter.body, { headers: h })
}
