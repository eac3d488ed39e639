// What a browser carries on its way to the identity provider and back: state, nonce, verifier and where to go then, encrypted in a
// cookie. So nothing is kept here for people who never come back.
import { createHash, randomBytes } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { EncryptJWT, jwtDecrypt } from 'jose'
import { createRecord, readRecord } from '#control/lists.ts'
import type { SharedSecret } from '#control/records.ts'
import { secretKey } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'

/** Seconds that somebody may take to sign in at the provider. */
export const WAY_S = 600

/** One way through the provider. */
export interface Way {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Path of this site to go on to. */
  readonly redirect: string
}

const random = (): string => randomBytes(32).toString('base64url')

/** A new way. */
export const newWay = (redirect: string): Way => ({ state: random(), nonce: random(), verifier: random(), redirect })

/** PKCE: what the provider is shown first. */
export const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

/** Writes and reads ways; every node shares the key. */
export function createWays(records: KV) {
  let known: Uint8Array | undefined
  const key = async (): Promise<Uint8Array> => {
    if (known === undefined) {
      await createRecord(records, secretKey('sign-in'), { secret: random() })
      const record = await readRecord<SharedSecret>(records, secretKey('sign-in'))
      if (record === undefined) throw new ParleyError('STREAM_CONFLICT', secretKey('sign-in'))
      known = Buffer.from(record.secret, 'base64url')
    }
    return known
  }
  return {
    seal: async (way: Way): Promise<string> =>
      new EncryptJWT({ ...way })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(`${WAY_S}s`)
        .encrypt(await key()),
    /** Undefined for what is not ours, or too old. */
    open: async (text: string | undefined): Promise<Way | undefined> => {
      if (text === undefined) return undefined
      try {
        const options = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }
        const { payload } = await jwtDecrypt<Way>(text, await key(), options)
        return payload
      } catch {
        return undefined
      }
    },
  }
}
