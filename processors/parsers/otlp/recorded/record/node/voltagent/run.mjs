// A VoltAgent agent with a tool, exported by a span processor that the application adds.
import { createOpenAI } from '@ai-sdk/openai'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Agent, createTool, VoltAgent, VoltAgentObservability } from '@voltagent/core'
import { z } from 'zod'
import { MODEL_URL, OTLP_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } from './common.mjs'

const openai = createOpenAI({ baseURL: MODEL_URL, apiKey: 'stub' })
const observability = new VoltAgentObservability({
  serviceName: 'weather-agent',
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: OTLP_URL }))],
})
const getWeather = createTool({
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: z.object({ city: z.string() }),
  execute: async () => ({ weather: WEATHER }),
})
const agent = new Agent({
  name: 'weather-agent',
  instructions: SYSTEM,
  model: openai.chat('gpt-4o-mini'),
  tools: [getWeather],
  observability,
})
new VoltAgent({ agents: { agent }, observability, checkDependencies: false })
const result = await agent.generateText(QUESTION, { userId: USER, conversationId: SESSION })
console.log(result.text)
await observability.shutdown()
process.exit(0)
