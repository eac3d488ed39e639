"""Laminar's decorators around the OpenAI client, sent by its own exporter."""

import json
import os

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER

from lmnr import Instruments, Laminar, observe

url, port = os.environ["OTLP_URL"].rsplit(":", 1)
Laminar.initialize(project_api_key="stub", base_url=url, http_port=int(port), force_http=True, instruments={Instruments.OPENAI})
import openai  # noqa: E402

client = openai.OpenAI(base_url=MODEL_URL, api_key="stub")


@observe(name="get_weather", span_type="TOOL")
def get_weather(city):
    return WEATHER


@observe(name="weather-agent", session_id=SESSION, user_id=USER, metadata={"plan": "pro"})
def answer(question):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


print(answer(QUESTION))
Laminar.flush()
