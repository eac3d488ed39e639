// streamText over the responses API with a tool; telemetry on, session and user as metadata.
import { createOpenAI } from '@ai-sdk/openai'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const { stop } = await startTracing()
const openai = createOpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const result = streamText({
  model: openai('gpt-4o-mini'),
  system: SYSTEM,
  prompt: QUESTION,
  stopWhen: stepCountIs(4),
  tools: {
    get_weather: tool({
      description: 'The weather in a city',
      inputSchema: z.object({ city: z.string() }),
      execute: async () => WEATHER,
    }),
  },
  experimental_telemetry: {
    isEnabled: true,
    functionId: 'weather-agent',
    metadata: { sessionId: SESSION, userId: USER, plan: 'pro' },
  },
})
console.log(await result.text)
await stop()
