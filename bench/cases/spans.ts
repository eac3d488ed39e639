// What one span costs a worker thread from the bytes of a protobuf batch to its rows, by the framework that wrote it: CPU
// microseconds, medians of interleaved rounds in one process, with the decoding alone beside it.

import { parseTraces } from '#processors/parsers/otlp.ts'
import { decodeTraces } from '#proto/otlp/decode.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { median, table } from '../stats.ts'

const ROUNDS = 9
const ROUND_MS = 250
const SPANS = 200

const context = {
  organization: '11111111-1111-4111-8111-111111111111',
  receivedAtMs: 1_790_000_000_000,
  mintedId: '01a0c4f2-0000-7000-8000-000000000001',
  retention: 0,
}

const words = 'Where is the parcel that I ordered on Monday, and when will it be here? '.repeat(4)
const history = JSON.stringify(
  Array.from({ length: 6 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    parts: [{ type: 'text', content: words }],
  })),
)

/** Attributes of one span by who writes them. */
const writers: Readonly<Record<string, { scope: string; name: string; values: Record<string, unknown> }>> = {
  contract: {
    scope: 'shop',
    name: 'turn',
    values: {
      ...{ 'service.session_id': 'chat-5', 'service.user_id': 'u-7', input: words, output: words },
      ...{ 'gen_ai.request.model': 'gpt-4o', 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20 },
      'customer.tier': 'gold',
    },
  },
  'OpenTelemetry GenAI': {
    scope: 'opentelemetry.instrumentation.openai_v2',
    name: 'chat gpt-4o',
    values: {
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o' },
      ...{ 'gen_ai.response.model': 'gpt-4o-2024', 'gen_ai.response.id': 'r', 'server.address': 'api.openai.com' },
      ...{ 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.request.temperature': 0.5 },
      ...{ 'gen_ai.input.messages': history, 'gen_ai.output.messages': history, 'session.id': 's', 'user.id': 'u' },
    },
  },
  OpenInference: {
    scope: 'openinference.instrumentation.openai',
    name: 'ChatCompletion',
    values: {
      ...{ 'openinference.span.kind': 'LLM', 'llm.model_name': 'gpt-4o', 'session.id': 's', 'user.id': 'u' },
      ...{ 'input.value': history, 'input.mime_type': 'application/json', 'output.value': words },
      ...{ 'llm.token_count.prompt': 100, 'llm.token_count.completion': 20, 'llm.token_count.total': 120 },
      ...Object.fromEntries(
        Array.from({ length: 6 }, (_, i) => [
          [`llm.input_messages.${i}.message.role`, i % 2 === 0 ? 'user' : 'assistant'],
          [`llm.input_messages.${i}.message.content`, words],
        ]).flat(),
      ),
      ...{ 'llm.output_messages.0.message.role': 'assistant', 'llm.output_messages.0.message.content': words },
    },
  },
  'AI SDK': {
    scope: 'ai',
    name: 'ai.generateText.doGenerate',
    values: {
      ...{ 'operation.name': 'ai.generateText.doGenerate shop', 'ai.operationId': 'ai.generateText.doGenerate' },
      ...{ 'ai.model.id': 'gpt-4o', 'ai.model.provider': 'openai.chat', 'ai.telemetry.functionId': 'shop' },
      ...{ 'ai.telemetry.metadata.sessionId': 's', 'ai.telemetry.metadata.userId': 'u', 'ai.settings.maxRetries': 2 },
      ...{ 'ai.telemetry.metadata.plan': 'pro', 'ai.prompt.messages': history, 'ai.response.text': words },
      ...{ 'ai.response.finishReason': 'stop', 'ai.response.id': 'r', 'ai.response.model': 'gpt-4o-2024' },
      ...{ 'ai.usage.inputTokens': 100, 'ai.usage.outputTokens': 20, 'gen_ai.system': 'openai.chat' },
      ...{ 'gen_ai.request.model': 'gpt-4o', 'gen_ai.response.model': 'gpt-4o-2024' },
      ...{ 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20 },
    },
  },
  'plain HTTP': {
    scope: '@opentelemetry/instrumentation-http',
    name: 'GET',
    values: {
      ...{ 'http.request.method': 'GET', 'url.full': 'https://shop.example/orders?id=5', 'server.port': 443 },
      ...{ 'http.response.status_code': 200, 'network.peer.address': '10.0.0.1', 'network.protocol.version': '1.1' },
    },
  },
}

/** Runs the case and prints its table. */
export async function spans(): Promise<void> {
  const bodies = Object.entries(writers).map(([name, { scope, name: spanName, values }]) => {
    const list = Array.from({ length: SPANS }, (_, i) =>
      span(1 + Math.floor(i / 10), i + 1, { name: spanName, parentSpanId: '00000000000000ff' }, values),
    )
    return [name, protobufBytes(request(list, { 'service.name': 'shop' }, { name: scope }))] as const
  })
  const measured = bodies.map(() => ({ decode: [] as number[], parse: [] as number[] }))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [i, [, body]] of bodies.entries()) {
      const decode = microsOf(() => decodeTraces(body, 'protobuf'))
      const parse = microsOf(() => parseTraces(body, 'protobuf', context))
      // The first round warms up.
      if (round === 0) continue
      measured[i]?.decode.push(decode)
      measured[i]?.parse.push(parse)
    }
  }
  const rows = bodies.map(([name, body], i) => {
    const { decode, parse } = measured[i] as (typeof measured)[number]
    return [name, Math.round(body.length / SPANS), median(decode).toFixed(2), median(parse).toFixed(2)]
  })
  console.log(table(['written by', 'bytes a span', 'decoded, µs a span', 'to rows, µs a span'], rows))
}

/** CPU microseconds of one span. */
function microsOf(run: () => void): number {
  const before = process.cpuUsage()
  const end = performance.now() + ROUND_MS
  let runs = 0
  while (performance.now() < end) {
    run()
    runs++
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / runs / SPANS
}
