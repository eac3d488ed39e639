// What the recorded programs share: the conversation, and a tracer provider with the real OTLP exporter.
export const MODEL_URL = `${process.env.MODEL_URL}/v1`
export const OTLP_URL = `${process.env.OTLP_URL}/v1/traces`
export const QUESTION = 'What is the weather in Paris?'
export const SYSTEM = 'You answer questions about the weather.'
export const WEATHER = '18 °C and sunny in Paris'
export const SESSION = 'weather-chat-7'
export const USER = 'user-42'

/** A provider that is registered globally; `stop` sends what is left. `wrap` may put a processor around the exporter's. */
export async function startTracing({ instrumentations = [], processors = [], resource = {} } = {}) {
  const { NodeTracerProvider, BatchSpanProcessor } = await import('@opentelemetry/sdk-trace-node')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  const { resourceFromAttributes } = await import('@opentelemetry/resources')
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'weather-agent', ...resource }),
    spanProcessors: [...processors, new BatchSpanProcessor(new OTLPTraceExporter({ url: OTLP_URL }))],
  })
  provider.register()
  for (const instrumentation of instrumentations) instrumentation.setTracerProvider(provider)
  return {
    provider,
    stop: async () => {
      await provider.forceFlush()
      await provider.shutdown()
    },
  }
}
