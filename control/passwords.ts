// Passwords of local accounts: scrypt hashes under the user's key, compared in constant time.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { readRecord } from '#control/lists.ts'
import type { Password } from '#control/records.ts'
import { passwordKey } from '#control/records.ts'

/** 32 MiB and some 80 ms a hash: what guessing costs whoever steals the records. Kept with each hash, so that it can be raised. */
const COST = { N: 2 ** 15, r: 8, p: 1 }
const HASH_BYTES = 32
/** scrypt takes 128 * N * r bytes; the default limit is just too low for that. */
const MAX_MEMORY = 64 * 1024 * 1024

function derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, { ...cost, maxmem: MAX_MEMORY }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    )
  })
}

/** Sets a user's password. */
export async function setPassword(records: KV, user: string, password: string): Promise<void> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, COST)
  const record: Password = {
    ...COST,
    salt: salt.toString('base64'),
    hash: hash.toString('base64'),
    changed_at: new Date().toISOString(),
  }
  await records.put(passwordKey(user), JSON.stringify(record))
}

/** True when the user has this password. Somebody who has none costs as much time, so that it cannot be told apart. */
export async function hasPassword(records: KV, user: string | undefined, password: string): Promise<boolean> {
  const record = user === undefined ? undefined : await readRecord<Password>(records, passwordKey(user))
  if (record === undefined) {
    await derive(password, randomBytes(16), COST)
    return false
  }
  const { N, r, p, salt, hash } = record
  return timingSafeEqual(await derive(password, Buffer.from(salt, 'base64'), { N, r, p }), Buffer.from(hash, 'base64'))
}
