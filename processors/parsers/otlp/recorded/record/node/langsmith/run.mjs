// LangSmith's traceable functions around the wrapped OpenAI client in its OpenTelemetry mode; session and user are metadata.
import { initializeOTEL } from 'langsmith/experimental/otel/setup'

const { DEFAULT_LANGSMITH_SPAN_PROCESSOR } = initializeOTEL()
const { Client } = await import('langsmith')
const { traceable } = await import('langsmith/traceable')
const { wrapOpenAI } = await import('langsmith/wrappers')
const { default: OpenAI } = await import('openai')
const { MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } = await import('./common.mjs')

const client = new Client()
const openai = wrapOpenAI(new OpenAI({ baseURL: MODEL_URL, apiKey: 'stub' }), { client })
const tools = [
  {
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const getWeather = traceable(async () => WEATHER, { name: 'get_weather', run_type: 'tool', client })
const agent = traceable(
  async question => {
    const messages = [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: question },
    ]
    for (;;) {
      const { choices } = await openai.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
      const [{ message }] = choices
      messages.push(message)
      if (!message.tool_calls) return message.content
      for (const call of message.tool_calls) {
        const content = await getWeather(JSON.parse(call.function.arguments))
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
    }
  },
  {
    name: 'weather-agent',
    run_type: 'chain',
    client,
    metadata: { session_id: SESSION, user_id: USER, plan: 'pro' },
  },
)
console.log(await agent(QUESTION))
await client.awaitPendingTraceBatches()
await DEFAULT_LANGSMITH_SPAN_PROCESSOR.forceFlush()
await DEFAULT_LANGSMITH_SPAN_PROCESSOR.shutdown()
