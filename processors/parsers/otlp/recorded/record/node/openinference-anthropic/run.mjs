// The Anthropic client instrumented by OpenInference; agent and tool are spans of openinference-core's helpers.
import Anthropic from '@anthropic-ai/sdk'
import { setSession, setUser, traceAgent, traceTool } from '@arizeai/openinference-core'
import { AnthropicInstrumentation } from '@arizeai/openinference-instrumentation-anthropic'
import { context } from '@opentelemetry/api'
import { QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const instrumentation = new AnthropicInstrumentation()
const { stop } = await startTracing({ instrumentations: [instrumentation] })
instrumentation.manuallyInstrument(Anthropic)
const client = new Anthropic({ baseURL: process.env.MODEL_URL, apiKey: 'stub' })
const tools = [
  { name: 'get_weather', description: 'The weather in a city', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
]
const getWeather = traceTool(async () => WEATHER, { name: 'get_weather' })
const agent = traceAgent(
  async question => {
    const messages = [{ role: 'user', content: question }]
    for (;;) {
      const { content } = await client.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 512, system: SYSTEM, messages, tools })
      messages.push({ role: 'assistant', content })
      const calls = content.filter(block => block.type === 'tool_use')
      if (calls.length === 0) return content[0].text
      for (const call of calls) {
        const result = await getWeather(call.input)
        messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: result }] })
      }
    }
  },
  { name: 'weather-agent' },
)
const scope = setUser(setSession(context.active(), { sessionId: SESSION }), { userId: USER })
console.log(await context.with(scope, () => agent(QUESTION)))
await stop()
