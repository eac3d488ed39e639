import t from 'tap'
import { errorStatus, exportResponse } from './response.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

t.test('full success is the empty response of the encoding', async t => {
  t.equal(text(exportResponse('json', 0, '')), '{}')
  t.equal(exportResponse('protobuf', 0, '').length, 0)
})

t.test('a partial success tells how many spans were refused and why', async t => {
  t.same(JSON.parse(text(exportResponse('json', 3, 'why'))), {
    partialSuccess: { rejectedSpans: '3', errorMessage: 'why' },
  })
  t.equal(hex(exportResponse('protobuf', 3, 'why')), '0a07 0803 1203 776879'.replaceAll(' ', ''))
  t.equal(hex(exportResponse('protobuf', 300, '')), '0a05 08ac02 1200'.replaceAll(' ', ''))
})

t.test('an error is a google.rpc.Status', async t => {
  t.same(JSON.parse(text(errorStatus('json', 3, 'bad'))), { code: 3, message: 'bad' })
  t.equal(hex(errorStatus('protobuf', 14, 'ß')), '080e1202c39f')
  const long = errorStatus('protobuf', 3, 'x'.repeat(300))
  t.equal(hex(long.subarray(0, 5)), '080312ac02')
  t.equal(long.length, 305)
})
