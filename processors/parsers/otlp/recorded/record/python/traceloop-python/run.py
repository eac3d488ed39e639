"""Traceloop's decorators around the OpenAI client: workflow, agent, tool, association properties."""

import json
import os

import openai
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER

Traceloop.init(app_name="weather-agent", api_endpoint=os.environ["OTLP_URL"], api_key="stub", disable_batch=False, telemetry_enabled=False)
client = openai.OpenAI(base_url=MODEL_URL, api_key="stub")


@tool(name="get_weather")
def get_weather(city):
    return WEATHER


@agent(name="weather-agent")
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


@workflow(name="weather-chat")
def chat(question):
    Traceloop.set_association_properties({"session_id": SESSION, "user_id": USER, "plan": "pro"})
    return answer(question)


print(chat(QUESTION))
from opentelemetry import trace  # noqa: E402

trace.get_tracer_provider().force_flush()
