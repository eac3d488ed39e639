import t from 'tap'
import { drain, mayClose } from './drain.ts'

const idle = { own: 0, forwarded: 0 }
const long = { allMs: 1_000, quietLooks: 8, timeoutMs: 5_000 }

t.test('connections are closed when nothing is under way and no request has come for a while', async t => {
  t.ok(mayClose(idle, long))
  t.notOk(mayClose(idle, { ...long, allMs: 20, quietLooks: 1 }), 'a sender may be using its connection')
  t.notOk(mayClose(idle, { ...long, quietLooks: 7 }), 'requests still come')
  t.ok(mayClose(idle, { ...long, allMs: 2_000, quietLooks: 0 }), 'requests that never end do not hold a stop')
  t.ok(mayClose(idle, { allMs: 100, quietLooks: 0, timeoutMs: 100 }), 'nor does anything beyond its time')
})

t.test('answers under way are waited for, forwarded ones for a second', async t => {
  t.notOk(mayClose({ own: 1, forwarded: 0 }, { ...long, allMs: 4_999 }))
  t.ok(mayClose({ own: 1, forwarded: 0 }, { ...long, allMs: 5_000 }))
  t.notOk(mayClose({ own: 0, forwarded: 1 }, { ...long, allMs: 999 }))
  t.ok(mayClose({ own: 0, forwarded: 1 }, { ...long, allMs: 1_000 }))
})

t.test('from the beginning of the stop on answers close their connections', async t => {
  const traffic = { own: 0, forwarded: 0, begun: 0, draining: false, latest: null, rejects: { note: () => {} } }
  const drained = drain(traffic, 5_000)
  t.ok(traffic.draining)
  await drained
})
