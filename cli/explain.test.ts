// `parley explain` from outside, on exports in both encodings; no instance runs.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { jsonBytes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { commandOf, runCommand } from '#test/command.ts'
import { tempDir } from '#test/rig.ts'

t.test('an export is explained, whatever its encoding', async t => {
  const dir = await tempDir(t)
  const file = async (name: string, content: string | Uint8Array): Promise<string> => {
    await writeFile(join(dir, name), content)
    return join(dir, name)
  }
  const parley = commandOf({}, 'explain')
  const body = request([
    span(1, 1, {}, { 'gen_ai.operation.name': 'invoke_agent', 'session.id': 'unknown' }),
    span(
      1,
      2,
      { parentSpanId: '0000000000000001' },
      {
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai' },
        ...{ 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 100, 'shop.chat': 'c-7' },
      },
    ),
  ])
  const json = await file('export.json', jsonBytes(body))
  const [plain, packed] = await Promise.all([
    parley(json),
    parley(await file('export.bin.gz', gzipSync(protobufBytes(body)))),
  ])
  t.equal(plain.code, 0)
  t.match(plain.out, /session_id .+<- the trace id: nothing names a session\n +not session\.id \(opentelemetry\): /)
  t.match(plain.out, /model +gpt-4o +<- gen_ai\.request\.model \(genai\)/)
  t.match(plain.out, /cost +0\.0035 +<- computed from the tokens by the price of openai gpt-4o/)
  t.match(plain.out, / - shop\.chat -> metadata/)
  t.equal(packed.out, plain.out)

  const rules = await file('rules.json', '[{"attribute":"shop.chat","field":"session_id"}]')
  const prices = await file('prices.json', '{"version":"1","entries":[]}')
  const [ruled, unpriced, wrong, missing, none] = await Promise.all([
    parley(json, '--rules', rules, '--span', '0000000000000002', '--json'),
    runCommand(['explain', json, '--all'], { PARLEY_PRICES: prices, PARLEY_SECRET_KEYS: 'shop.chat' }),
    parley(await file('wrong', 'no export')),
    parley(join(dir, 'nothing')),
    parley(),
  ])
  const spans = JSON.parse(ruled.out) as { fields: { field: string; value: string; from: unknown }[] }[]
  t.equal(spans.length, 1)
  t.match(
    spans[0]?.fields.find(field => field.field === 'session_id'),
    { value: 'c-7', from: { attribute: 'shop.chat', dialect: 'organization' } },
  )
  t.match(unpriced.out, /cost +\(empty\) +<- the price list does not have this model/)
  t.match(unpriced.out, /looked for in service\.user_id, /)
  t.match(unpriced.out, / - shop\.chat -> metadata, masked/, 'names of secrets are those of the settings')
  t.match(wrong, { code: 2, err: /no OTLP export that can be read as protobuf: ING_OTLP_INVALID/ })
  t.match(missing, { code: 2, err: /cannot be read/ })
  t.match(none, { code: 2, err: /parley explain FILE/ })
})
