// A Mastra agent with a tool, exported by Mastra's OpenTelemetry exporter.
import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { Observability } from '@mastra/observability'
import { OtelExporter } from '@mastra/otel-exporter'
import { z } from 'zod'
import { MODEL_URL, OTLP_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } from './common.mjs'

const openai = createOpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const getWeather = createTool({
  id: 'get_weather',
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.object({ weather: z.string() }),
  execute: async () => ({ weather: WEATHER }),
})
const agent = new Agent({
  id: 'weather-agent',
  name: 'weather-agent',
  instructions: SYSTEM,
  model: openai('gpt-4o-mini'),
  tools: { get_weather: getWeather },
})
const observability = new Observability({
  configs: {
    otel: {
      serviceName: 'weather-agent',
      exporters: [new OtelExporter({ provider: { custom: { endpoint: OTLP_URL, protocol: 'http/protobuf' } } })],
    },
  },
})
const mastra = new Mastra({ agents: { agent }, observability, logger: false })
const result = await mastra
  .getAgent('agent')
  .generate(QUESTION, { tracingOptions: { metadata: { sessionId: SESSION, userId: USER, plan: 'pro' } } })
console.log(result.text)
await observability.shutdown()
