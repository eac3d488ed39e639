// A Genkit flow with a tool; Genkit's telemetry with the OTLP exporter.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { openAI } from '@genkit-ai/compat-oai/openai'
import { genkit, z } from 'genkit'
import { enableTelemetry, flushTracing } from 'genkit/tracing'
import { MODEL_URL, OTLP_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER } from './common.mjs'

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: OTLP_URL }))] })
const ai = genkit({ plugins: [openAI({ apiKey: 'stub', baseURL: MODEL_URL })] })
const getWeather = ai.defineTool(
  { name: 'get_weather', description: 'The weather in a city', inputSchema: z.object({ city: z.string() }), outputSchema: z.string() },
  async () => WEATHER,
)
const chat = ai.defineFlow('weatherChat', async question => {
  const { text } = await ai.generate({ model: openAI.model('gpt-4o-mini'), system: SYSTEM, prompt: question, tools: [getWeather] })
  return text
})
console.log(await chat(QUESTION, { context: { auth: { uid: USER }, sessionId: SESSION } }))
await flushTracing()
process.exit(0)
