"""What the recorded programs share: the conversation, and a tracer provider with the real OTLP exporter."""

import os

MODEL_URL = os.environ["MODEL_URL"] + "/v1"
OTLP_URL = os.environ["OTLP_URL"] + "/v1/traces"
QUESTION = "What is the weather in Paris?"
SYSTEM = "You answer questions about the weather."
WEATHER = "18 °C and sunny in Paris"
SESSION = "weather-chat-7"
USER = "user-42"
MODEL = "gpt-4o-mini"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def start_tracing(register=True):
    """A provider, registered globally unless told otherwise. Call its force_flush() at the end."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "weather-agent"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=OTLP_URL)))
    if register:
        trace.set_tracer_provider(provider)
    return provider
