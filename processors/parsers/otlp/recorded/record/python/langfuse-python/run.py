"""Langfuse's drop-in OpenAI client and its decorators, sent by its own exporter to its own path."""

import json
import os

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER

os.environ.update(LANGFUSE_PUBLIC_KEY="pk-stub", LANGFUSE_SECRET_KEY="sk-stub", LANGFUSE_BASE_URL=os.environ["OTLP_URL"])
from langfuse import get_client, observe, propagate_attributes  # noqa: E402
from langfuse.openai import OpenAI  # noqa: E402

client = OpenAI(base_url=MODEL_URL, api_key="stub")


@observe(as_type="tool")
def get_weather(city):
    return WEATHER


@observe(name="weather-agent", as_type="agent")
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


with propagate_attributes(session_id=SESSION, user_id=USER, tags=["weather"], metadata={"plan": "pro"}):
    print(answer(QUESTION))
get_client().flush()
