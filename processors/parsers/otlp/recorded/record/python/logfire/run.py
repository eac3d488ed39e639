"""Logfire's spans and its instrumentation of the OpenAI client, exported by OpenTelemetry's own exporter."""

import json

import logfire
import openai
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from common import MODEL, MODEL_URL, OTLP_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER

logfire.configure(
    send_to_logfire=False,
    service_name="weather-agent",
    console=False,
    additional_span_processors=[BatchSpanProcessor(OTLPSpanExporter(endpoint=OTLP_URL))],
)
client = openai.OpenAI(base_url=MODEL_URL, api_key="stub")
logfire.instrument_openai(client)


def answer(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            own = {"gen_ai.tool.name": call.function.name, "tool_arguments": json.loads(call.function.arguments)}
            with logfire.span("running tool", **own) as span:
                span.set_attribute("tool_response", WEATHER)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": WEATHER})


with logfire.set_baggage(**{"session.id": SESSION, "user.id": USER}):
    with logfire.span("weather-agent {input}", input=QUESTION) as turn:
        text = answer(QUESTION)
        turn.set_attribute("output", text)
print(text)
logfire.force_flush()
