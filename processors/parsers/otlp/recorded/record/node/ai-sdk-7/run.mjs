// generateText with a tool through the OpenTelemetry integration. Metadata is gone there: session and user are runtime context, which
// the application has to let through.
import { createOpenAI } from '@ai-sdk/openai'
import { OpenTelemetry } from '@ai-sdk/otel'
import { generateText, registerTelemetry, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const { stop } = await startTracing()
registerTelemetry(new OpenTelemetry({ runtimeContext: true }))
const openai = createOpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const result = await generateText({
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
  runtimeContext: { sessionId: SESSION, userId: USER },
  telemetry: { functionId: 'weather-agent', includeRuntimeContext: { sessionId: true, userId: true } },
})
console.log(result.text)
await stop()
