// The Anthropic client's own spans, streaming, below one of the application with the contract's keys.
import Anthropic from '@anthropic-ai/sdk'
import { trace } from '@opentelemetry/api'
import { QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const { stop } = await startTracing()
const client = new Anthropic({ baseURL: process.env.MODEL_URL, apiKey: 'stub' })
const tracer = trace.getTracer('weather-agent')
const tools = [
  {
    name: 'get_weather',
    description: 'The weather in a city',
    input_schema: { type: 'object', properties: { city: { type: 'string' } } },
  },
]
const own = { 'service.session_id': SESSION, 'service.user_id': USER }

async function answer(question) {
  const messages = [{ role: 'user', content: question }]
  for (;;) {
    const request = { model: 'claude-sonnet-4-5', max_tokens: 512, system: SYSTEM, messages, tools }
    const { content } = await client.messages.stream(request).finalMessage()
    messages.push({ role: 'assistant', content })
    const calls = content.filter(block => block.type === 'tool_use')
    if (calls.length === 0) return content[0].text
    for (const call of calls) {
      const attributes = { ...own, input: JSON.stringify(call.input), output: WEATHER }
      tracer.startActiveSpan(`tool.${call.name}`, { attributes }, span => span.end())
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: WEATHER }] })
    }
  }
}

const text = await tracer.startActiveSpan('weather-agent', { attributes: { ...own, input: QUESTION } }, async span => {
  const output = await answer(QUESTION)
  span.setAttribute('output', output)
  span.end()
  return output
})
console.log(text)
await stop()
