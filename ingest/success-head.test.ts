import t from 'tap'
import { NO_FRAME } from '#ingest/intake.ts'
import { SuccessHead } from '#ingest/success-head.ts'

t.test('status, content type and receipt stand in a row, whatever was written before', async t => {
  const head = new SuccessHead('rest')
  const f = (receiptHead: string, frame: number, receipt: string) =>
    t.equal(
      Buffer.from(head.of(receiptHead, frame)).toString(),
      `200 OK\r\nContent-Type: application/json\r\nX-Parley-Receipt: ${receipt}`,
    )
  f('0-7-', 0, '0-7-0')
  f('0-7-', 9, '0-7-9')
  f('0-7-', 10, '0-7-10')
  f('0-7-', 4_294_967_295, '0-7-4294967295')
  f('0-7-', 3, '0-7-3')
  f('12-9007199254740991-', 109, '12-9007199254740991-109')
  f('none', NO_FRAME, 'none')
  f('1-8-', 0, '1-8-0')
})

t.test('heads of two formats do not share their memory', async t => {
  const [rest, otlp] = [new SuccessHead('rest'), new SuccessHead('otlp-protobuf')]
  const before = rest.of('0-1-', 5)
  const other = otlp.of('1-2-', 66)
  t.match(Buffer.from(before).toString(), /application\/json\r\nX-Parley-Receipt: 0-1-5$/)
  t.match(Buffer.from(other).toString(), /application\/x-protobuf\r\nX-Parley-Receipt: 1-2-66$/)
})
