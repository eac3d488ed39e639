// `parley dead` from outside, against a running system with one payload that no parser can read.
import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { subjectOf } from '#proto/streams.ts'
import { commandOf, ends } from '#test/command.ts'
import { eventually, startSystem } from '#test/rig.ts'

t.test('a payload that cannot be parsed is listed, shown, sent again and dropped', async t => {
  const system = await startSystem(t, { receivers: 0 })
  const parley = commandOf({ NATS_URL: system.nats.url })
  ends(t, await parley('dead', 'list'), { code: 0, out: 'no dead letters' })

  const writer = new EnvelopeWriter(10_000)
  const body = Buffer.from('{"session_id": cut')
  writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(system.organization), Date.now(), null, body)
  await jetstream(system.nc).publish(subjectOf(0), writer.finish())

  const listed = await eventually('the letter', async () => {
    const answer = await parley('dead', 'list')
    return answer.out.includes('DEAD_PARSE') ? answer.out : undefined
  })
  t.match(listed, `event of ${system.organization}, ${body.length} bytes, at 0-1-0`)
  const id = /^\s*(\d+)/.exec(listed)?.[1] as string

  const shown = await parley('dead', 'show', id)
  t.match(shown.out, 'partition 0, sequence 1, frame 0')
  t.match(shown.out, '{"session_id": cut')
  t.equal((await parley('dead', 'show', id, '--raw')).out, body.toString())
  ends(t, await parley('dead', 'list', '--code', 'DEAD_TIMEOUT'), { code: 0, out: 'no dead letters' })

  ends(t, await parley('dead', 'replay', id), { code: 0, out: 'sent again 1' })
  const again = await eventually('the letter to die again, at its new position', async () => {
    const answer = await parley('dead', 'list')
    return answer.out.includes('0-2-0') ? answer.out : undefined
  })
  t.notMatch(again, '0-1-0', 'the first letter is gone')

  await jetstream(system.nc).publish(subjectOf(1), 'no envelope')
  const whole = await eventually('the message that is no envelope', async () => {
    const answer = await parley('dead', 'list', '--code', 'DEAD_ENVELOPE_BROKEN')
    return answer.out.includes('DEAD_ENVELOPE_BROKEN') ? answer.out : undefined
  })
  t.match(whole, 'a whole message, 11 bytes, at 1-1\n')
  const opened = await parley('dead', 'show', /^\s*(\d+)/.exec(whole)?.[1] as string)
  t.match(opened.out, /^kind +a whole message\nposition +partition 1, sequence 1\n/m)
  t.notMatch(opened.out, /received at|organization|1970/)
  ends(t, await parley('dead', 'drop', '--all', '--code', 'DEAD_ENVELOPE_BROKEN'), { code: 0, out: 'dropped 1' })
  ends(t, await parley('dead', 'drop', '--all', '--org', system.organization), { code: 0, out: 'dropped 1' })
  ends(t, await parley('dead', 'list'), { code: 0, out: 'no dead letters' })

  const f = async (args: string[], message: string) =>
    ends(t, await parley(...args), { code: 2, err: message }, args.join(' '))
  await f(['dead', 'show', '999'], 'there is no dead letter 999')
  await f(['dead', 'show', 'x'], 'a letter id must be a whole number')
  await f(['dead', 'drop'], 'name letters by id, or all of them by --all')
  await f(['dead', 'drop', '1', '--all'], 'or all of them by --all, not both')
  await f(['dead', 'drop', '--all', '--code', 'DEAD_PRASE'], '--code must be one of DEAD_ENVELOPE_VERSION, ')
  await f(['dead', 'list', '5'], 'parley dead list')
  await f(['dead', 'list', '--org', 'mine'], '--org must be a uuid')
  await f(['dead', 'list', '--wrong'], "Unknown option '--wrong'")
  await f(['dead'], 'parley dead list')
  await f(['nothing'], 'usage')
})
