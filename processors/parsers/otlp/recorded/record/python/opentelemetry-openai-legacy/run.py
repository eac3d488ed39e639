"""The OpenAI client instrumented by OpenTelemetry itself in the older form, which sends messages as logs: the spans
have none. The application's own spans around it carry the keys of the contract."""

import json

import openai
from opentelemetry import trace
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER, start_tracing

provider = start_tracing()
OpenAIInstrumentor().instrument(tracer_provider=provider)
client = openai.OpenAI(base_url=MODEL_URL, api_key="stub")
tracer = trace.get_tracer("weather-agent")
OWN = {"service.session_id": SESSION, "service.user_id": USER}


def answer(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            with tracer.start_as_current_span("tool." + call.function.name, attributes=OWN) as span:
                span.set_attribute("input", json.dumps(json.loads(call.function.arguments)))
                span.set_attribute("output", WEATHER)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": WEATHER})


with tracer.start_as_current_span("weather-agent", attributes={**OWN, "input": QUESTION, "customer.tier": "pro"}) as turn:
    text = answer(QUESTION)
    turn.set_attribute("output", text)
print(text)
provider.force_flush()
