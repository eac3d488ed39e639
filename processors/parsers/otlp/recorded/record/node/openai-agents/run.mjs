// The OpenAI Agents SDK for JavaScript (responses API), exported by OpenInference's trace processor.
import { setSession, setUser } from '@arizeai/openinference-core'
import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents'
import * as agents from '@openai/agents'
import { context } from '@opentelemetry/api'
import { z } from 'zod'
import { QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const { provider, stop } = await startTracing()
const instrumentation = new OpenAIAgentsInstrumentation({ tracerProvider: provider })
instrumentation.manuallyInstrument(agents)
const getWeather = agents.tool({
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: z.object({ city: z.string() }),
  execute: async () => WEATHER,
})
const agent = new agents.Agent({ name: 'weather-agent', instructions: SYSTEM, model: 'gpt-4o-mini', tools: [getWeather] })
const scope = setUser(setSession(context.active(), { sessionId: SESSION }), { userId: USER })
const result = await context.with(scope, () => agents.run(agent, QUESTION))
console.log(result.finalOutput)
await agents.getGlobalTraceProvider().forceFlush()
await stop()
