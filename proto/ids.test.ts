import { createHash } from 'node:crypto'
import t from 'tap'
import {
  conversationIdOf,
  FINGERPRINT_BYTES,
  fingerprint,
  isUuid,
  mintId,
  NIL_UUID,
  partitionOf,
  shardOf,
  shardOfPartition,
  spanEventId,
  uuidBytes,
  uuidText,
  uuidV5,
} from '#proto/ids.ts'

const DNS = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'

t.test('a uuid is 36 characters of hex and dashes, in either case', async t => {
  const f = (text: string, expected: boolean) => t.equal(isUuid(text), expected, JSON.stringify(text))
  f('6ba7b810-9dad-11d1-80b4-00c04fd430c8', true)
  f('6BA7B810-9DAD-11D1-80B4-00C04FD430C8', true)
  f('6ba7b8109dad11d180b400c04fd430c8', false)
  f('conv_6ba7b810-9dad-11d1-80b4-00c04fd430c8', false)
  f('6ba7b810-9dad-11d1-80b4-00c04fd430cg', false)
  f('6ba7b810-9dad-11d1-80b4-00c04fd430c8\n', false)
  f('', false)
})

t.test('uuid text and bytes are the same value', async t => {
  t.equal(uuidText(uuidBytes(DNS)), DNS)
  t.equal(uuidText(Buffer.concat([Buffer.from([1, 2]), uuidBytes(DNS)]), 2), DNS)
})

t.test('UUIDv5 gives the value of RFC 9562, appendix A.4', async t => {
  t.equal(uuidV5(DNS, 'www.example.com'), '2ed6657d-e927-568b-95e1-2665a8aea6a2')
})

t.test(
  'a session id that is a uuid is its own conversation, any other is mapped for good and per organization',
  async t => {
    const a = '11111111-1111-4111-8111-111111111111'
    const b = '22222222-2222-4222-8222-222222222222'
    t.equal(conversationIdOf(a, DNS.toUpperCase()), DNS)
    t.equal(conversationIdOf(a, 'conv_1'), conversationIdOf(a, 'conv_1'))
    t.not(conversationIdOf(a, 'conv_1'), conversationIdOf(b, 'conv_1'))
    t.ok(isUuid(conversationIdOf(a, 'conv_1')))
    t.not(spanEventId(a, 'aa', 'bb'), spanEventId(a, 'aa', 'bc'))
  },
)

t.test('minted ids are distinct version 7 uuids that begin with their time', async t => {
  const at = Date.UTC(2026, 10, 20)
  const seen = new Set<string>()
  for (let i = 0; i < 2000; i++) seen.add(uuidText(mintId(at)))
  t.equal(seen.size, 2000)
  for (const id of seen) {
    if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)) t.fail(id)
    if (Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16) !== at) t.fail(`${id} does not carry its time`)
  }
})

t.test('partitions are stable for ever and even', async t => {
  const organization = uuidBytes(DNS)
  // Pinned: changing these numbers would send a session's later events to another partition than its earlier ones.
  const pinned = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => partitionOf(organization, Buffer.from(name), 16))
  t.strictSame(pinned, [3, 3, 2, 7, 11, 2])
  const counts = new Array<number>(8).fill(0)
  for (let i = 0; i < 8000; i++) {
    const p = partitionOf(organization, uuidBytes(uuidV5(DNS, String(i))), 8)
    counts[p] = (counts[p] ?? 0) + 1
  }
  for (const count of counts) t.ok(count > 850 && count < 1150, `about 1000, was ${count}`)
})

t.test('partitions of an organization are those of its shard, whose number is stable for ever', async t => {
  const organizations = Array.from({ length: 400 }, (_, i) => uuidBytes(uuidV5(DNS, `organization ${i}`)))
  t.strictSame(
    organizations.slice(0, 8).map(organization => shardOf(organization, 3)),
    [2, 0, 0, 0, 1, 2, 1, 0],
  )
  const seen = new Set<number>()
  for (const organization of organizations) {
    for (const name of ['a', 'b', 'c', 'd']) {
      const partition = partitionOf(organization, Buffer.from(name), 6, 3)
      if (shardOfPartition(partition, 3) !== shardOf(organization, 3)) t.fail(`partition ${partition}`)
      seen.add(partition)
    }
  }
  t.strictSame(
    [...seen].sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5],
  )
  const shards = [0, 1, 2].map(shard => organizations.filter(one => shardOf(one, 3) === shard).length)
  for (const count of shards) t.ok(count > 100 && count < 170, `about 133, was ${count}`)
})

t.test('fingerprints tell kinds, organizations and ids apart', async t => {
  const prints = [
    fingerprint('event', 'o1', 'x'),
    fingerprint('call', 'o1', 'x'),
    fingerprint('event', 'o2', 'x'),
    fingerprint('event', 'o1', 'y'),
  ].map(print => print.toString('hex'))
  t.equal(new Set(prints).size, 4)
  t.equal(fingerprint('event', 'o1', 'x').toString('hex'), prints[0])
  t.equal(fingerprint('event', 'o1', 'x').length, FINGERPRINT_BYTES)
})

t.test(
  'the id of a name is the same whatever was asked before: other namespaces, longer names, any script',
  async t => {
    const plain = (namespace: string, name: string): string => {
      const digest = createHash('sha1').update(uuidBytes(namespace)).update(name, 'utf8').digest()
      digest[6] = ((digest[6] as number) & 0x0f) | 0x50
      digest[8] = ((digest[8] as number) & 0x3f) | 0x80
      return uuidText(digest)
    }
    const namespaces = [NIL_UUID, '11111111-1111-4111-8111-111111111111', 'ffffffff-ffff-4fff-bfff-ffffffffffff']
    for (let i = 0; i < 300; i++) {
      const name = 'aé漢😀\ud800'.slice(0, i % 6).repeat((i * 7) % 90)
      const namespace = namespaces[i % 3] as string
      if (uuidV5(namespace, name) !== plain(namespace, name)) t.equal(uuidV5(namespace, name), plain(namespace, name))
    }
  },
)
