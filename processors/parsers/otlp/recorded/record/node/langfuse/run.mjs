// Langfuse's own spans around the OpenAI client, sent by its span processor to its own path.
import { observeOpenAI } from '@langfuse/openai'
import { LangfuseSpanProcessor } from '@langfuse/otel'
import { propagateAttributes, startActiveObservation } from '@langfuse/tracing'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import OpenAI from 'openai'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } from './common.mjs'

const processor = new LangfuseSpanProcessor({
  publicKey: 'pk-stub',
  secretKey: 'sk-stub',
  baseUrl: process.env.OTLP_URL,
  environment: 'production',
  release: '1.4.0',
})
const provider = new NodeTracerProvider({ spanProcessors: [processor] })
provider.register()
const client = observeOpenAI(new OpenAI({ baseURL: MODEL_URL, apiKey: 'stub' }))
const tools = [
  {
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]

const getWeather = args =>
  startActiveObservation(
    'get_weather',
    async span => {
      span.update({ input: args, output: WEATHER })
      return WEATHER
    },
    { asType: 'tool' },
  )

const answer = await propagateAttributes(
  { sessionId: SESSION, userId: USER, tags: ['weather'], metadata: { plan: 'pro' } },
  () =>
    startActiveObservation(
      'weather-agent',
      async span => {
        span.update({ input: QUESTION })
        const messages = [
          { role: 'system', content: SYSTEM },
          { role: 'user', content: QUESTION },
        ]
        for (;;) {
          const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages, tools })
          const [{ message }] = choices
          messages.push(message)
          if (!message.tool_calls) {
            span.update({ output: message.content })
            return message.content
          }
          for (const call of message.tool_calls) {
            const content = await getWeather(JSON.parse(call.function.arguments))
            messages.push({ role: 'tool', tool_call_id: call.id, content })
          }
        }
      },
      { asType: 'agent' },
    ),
)
console.log(answer)
await processor.forceFlush()
await provider.shutdown()
