// generateText with a tool; telemetry on, session and user as metadata.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, tool } from 'ai'
import { z } from 'zod'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const { stop } = await startTracing()
const openai = createOpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const result = await generateText({
  model: openai('gpt-4o-mini'),
  system: SYSTEM,
  prompt: QUESTION,
  maxSteps: 4,
  tools: {
    get_weather: tool({
      description: 'The weather in a city',
      parameters: z.object({ city: z.string() }),
      execute: async () => WEATHER,
    }),
  },
  experimental_telemetry: {
    isEnabled: true,
    functionId: 'weather-agent',
    metadata: { sessionId: SESSION, userId: USER, plan: 'pro' },
  },
})
console.log(result.text)
await stop()
