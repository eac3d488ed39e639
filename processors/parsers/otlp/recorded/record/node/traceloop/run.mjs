// Traceloop's decorators as functions around the OpenAI client: workflow, agent, tool.
import * as traceloop from '@traceloop/node-server-sdk'
import OpenAI from 'openai'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } from './common.mjs'

traceloop.initialize({
  appName: 'weather-agent',
  baseUrl: process.env.OTLP_URL,
  apiKey: 'stub',
  silenceInitializationMessage: true,
  instrumentModules: { openAI: OpenAI },
  traceloopSyncEnabled: false,
})
const client = new OpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const tools = [
  {
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const getWeather = args => traceloop.withTool({ name: 'get_weather' }, async () => WEATHER, args)

async function answer(question) {
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
}

const text = await traceloop.withAssociationProperties({ session_id: SESSION, user_id: USER }, () =>
  traceloop.withWorkflow({ name: 'weather-chat' }, () =>
    traceloop.withAgent({ name: 'weather-agent' }, answer, QUESTION),
  ),
)
console.log(text)
await traceloop.forceFlush()
