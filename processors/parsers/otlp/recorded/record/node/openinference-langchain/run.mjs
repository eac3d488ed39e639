// A LangChain agent (LangGraph) instrumented by OpenInference; session and user are metadata of the run.
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain'
import * as callbacks from '@langchain/core/callbacks/manager'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { MODEL_URL, QUESTION, SESSION, SYSTEM, startTracing, USER, WEATHER } from './common.mjs'

const instrumentation = new LangChainInstrumentation()
const { stop } = await startTracing({ instrumentations: [instrumentation] })
instrumentation.manuallyInstrument(callbacks)
const getWeather = tool(async () => WEATHER, {
  name: 'get_weather',
  description: 'The weather in a city',
  schema: z.object({ city: z.string() }),
})
const model = new ChatOpenAI({ model: 'gpt-4o-mini', apiKey: 'stub', configuration: { baseURL: MODEL_URL } })
const agent = createAgent({ model, tools: [getWeather], systemPrompt: SYSTEM, name: 'weather-agent' })
const result = await agent.invoke(
  { messages: [{ role: 'user', content: QUESTION }] },
  { metadata: { session_id: SESSION, user_id: USER, plan: 'pro' } },
)
console.log(result.messages.at(-1).content)
await stop()
