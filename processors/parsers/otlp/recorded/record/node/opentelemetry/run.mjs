// Spans written by hand after the GenAI conventions, by the newest OpenTelemetry SDK: messages as real lists, not as JSON. The JSON
// exporter, without any instrumentation.
import { context, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import * as sdk from '@opentelemetry/sdk-trace'
import { MODEL_URL, OTLP_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } from './common.mjs'

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const processor = new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: OTLP_URL }) })
const provider = new (sdk.BasicTracerProvider ?? sdk.TracerProvider)({
  resource: resourceFromAttributes({ 'service.name': 'weather-agent' }),
  spanProcessors: [processor],
})
const tracer = provider.getTracer('weather-agent', '1.4.0')
const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }]
const messages = [
  { role: 'system', content: SYSTEM },
  { role: 'user', content: QUESTION },
]
const parts = message =>
  message.role === 'tool'
    ? { role: 'tool', parts: [{ type: 'tool_call_response', id: message.tool_call_id, response: message.content }] }
    : {
        role: message.role,
        parts: [
          ...(message.content ? [{ type: 'text', content: message.content }] : []),
          ...(message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
            ...{ type: 'tool_call', id, name, arguments: JSON.parse(args) },
          })),
        ],
      }

/** A span around a step. */
function step(name, kind, attributes, run) {
  return tracer.startActiveSpan(name, { kind, attributes }, async span => {
    const result = await run(span)
    span.end()
    return result
  })
}

function chat() {
  const request = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o-mini' }
  return step('chat gpt-4o-mini', SpanKind.CLIENT, request, async span => {
    span.setAttribute('gen_ai.system_instructions', [{ type: 'text', content: SYSTEM }])
    span.setAttribute('gen_ai.input.messages', messages.slice(1).map(parts))
    const answer = await fetch(`${MODEL_URL}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4o-mini', messages, tools }),
    })
    const { id, model, choices, usage } = await answer.json()
    const [{ message, finish_reason }] = choices
    span.setAttributes({
      'gen_ai.response.id': id,
      'gen_ai.response.model': model,
      'gen_ai.response.finish_reasons': [finish_reason],
      'gen_ai.usage.input_tokens': usage.prompt_tokens,
      'gen_ai.usage.output_tokens': usage.completion_tokens,
      'gen_ai.usage.cache_read.input_tokens': usage.prompt_tokens_details.cached_tokens,
      'gen_ai.usage.reasoning.output_tokens': usage.completion_tokens_details.reasoning_tokens,
    })
    span.setAttribute('gen_ai.output.messages', [{ ...parts(message), finish_reason }])
    return message
  })
}

const agent = {
  'gen_ai.operation.name': 'invoke_agent',
  'gen_ai.provider.name': 'openai',
  'gen_ai.agent.name': 'weather-agent',
  'gen_ai.conversation.id': SESSION,
  'enduser.id': USER,
  'customer.tier': 'pro',
}
const answer = await step('invoke_agent weather-agent', SpanKind.INTERNAL, agent, async () => {
  for (;;) {
    const message = await chat()
    messages.push(message)
    if (message.tool_calls === undefined) return message.content
    for (const { id, function: called } of message.tool_calls) {
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': called.name,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': id,
        'gen_ai.tool.call.arguments': called.arguments,
      }
      await step(`execute_tool ${called.name}`, SpanKind.INTERNAL, attributes, async span => {
        span.setAttribute('gen_ai.tool.call.result', WEATHER)
      })
      messages.push({ role: 'tool', tool_call_id: id, content: WEATHER })
    }
  }
})
console.log(answer)
await provider.forceFlush()
await provider.shutdown()
trace.disable()
