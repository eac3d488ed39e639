// The OpenAI client instrumented by OpenInference; agent and tool are spans of openinference-core's helpers.
import { setSession, setUser, traceAgent, traceTool } from '@arizeai/openinference-core'
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai'
import { context } from '@opentelemetry/api'
import OpenAI from 'openai'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const instrumentation = new OpenAIInstrumentation()
const { stop } = await startTracing({ instrumentations: [instrumentation] })
instrumentation.manuallyInstrument(OpenAI)
const client = new OpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const tools = [
  {
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const getWeather = traceTool(async () => WEATHER, { name: 'get_weather' })
const agent = traceAgent(
  async question => {
    const messages = [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: question },
    ]
    for (;;) {
      const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
      const [{ message }] = choices
      messages.push(message)
      if (!message.tool_calls) return message.content
      for (const call of message.tool_calls) {
        const content = await getWeather(JSON.parse(call.function.arguments))
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
    }
  },
  { name: 'weather-agent' },
)
const scope = setUser(setSession(context.active(), { sessionId: SESSION }), { userId: USER })
console.log(await context.with(scope, () => agent(QUESTION)))
await stop()
