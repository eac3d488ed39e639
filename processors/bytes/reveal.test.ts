// What spans of a body reveal about their conversations is said once, whichever way each of them was read, and under whichever of its names
// a session or a user stood. The number of cases, and another seed, may be given as arguments.
import t from 'tap'
import type { JsonObject } from '#proto/json.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { scaled } from '#test/scale.ts'
import { parsers } from '../registry.ts'
import { become, objects } from './fixture-become.ts'

const CASES = Number(process.argv[2] ?? scaled({ sample: 250, full: 2_500 }))
const SEED = Number(process.argv[3] ?? 0)

const SESSIONS = [
  's1',
  's2',
  'a b',
  'unknown',
  '0A000000-0000-4000-8000-00000000000a',
  '0a000000-0000-4000-8000-00000000000a',
]
const USERS = ['u1', 'u2', 'user two', 'unknown', '']
const MAILS = ['a1@b.c', 'b2@b.c', 'none']
/** More attributes than plans are made for. */
const MANY = Object.fromEntries(Array.from({ length: 210 }, (_, i) => [`app.n${i}`, i]))

function revealing(random: Random): JsonObject {
  const one = (values: readonly string[]): string => values[random(values.length)] as string
  return {
    ...(random(6) > 0 ? { [one(['session.id', 'langfuse.session.id', 'gen_ai.conversation.id'])]: one(SESSIONS) } : {}),
    ...(random(3) > 0 ? { [one(['user.id', 'enduser.id', 'langfuse.user.id'])]: one(USERS) } : {}),
    ...(random(3) > 0 ? { [one(['user.email', 'enduser.email'])]: one(MAILS) } : {}),
    ...(random(3) === 0 ? { 'user.plan': one(['free', 'paid']) } : {}),
    ...(random(3) === 0 ? { [one(['metadata.team', 'langfuse.trace.metadata.team'])]: one(['x', 'y']) } : {}),
    ...(random(8) === 0 ? MANY : {}),
    input: 'hello',
  }
}

/** The same keys, one of them with another value. */
function changed(values: JsonObject, random: Random): JsonObject {
  const keys = Object.keys(values).slice(0, 6)
  const words = [...SESSIONS, ...USERS, ...MAILS]
  return { ...values, [keys[random(keys.length)] as string]: words[random(words.length)] }
}

t.test('what spans reveal is said once, whichever way they were read', async t => {
  const random = randomOf(SEED + 1)
  let [spans, left] = [0, 0]
  for (let i = 0; i < CASES; i++) {
    const first = Array.from({ length: 3 }, () => revealing(random))
    const kinds = [...first, changed(first[0] as JsonObject, random), changed(first[1] as JsonObject, random)]
    const picked = Array.from({ length: 14 }, (_, k) =>
      span(1 + random(2), k + 1, { name: 'x' }, kinds[random(5)] as JsonObject),
    )
    const body = protobufBytes(request(picked))
    const expected = become(body, objects).all
    for (const round of [1, 2]) {
      const made = become(body, parsers)
      if (made.all !== expected) return t.fail(`case ${i}, round ${round}: ${JSON.stringify(kinds)}`)
      spans += made.spans
      left += made.objects
    }
  }
  t.ok(left > spans / 20, `${left} of ${spans} spans were read as objects`)
  t.ok(left < spans / 2, `${left} of ${spans} spans were read as objects`)
})
