"""An agent of Microsoft's Agent Framework with sensitive data on; its own spans inside one of the application's."""

import asyncio

from agent_framework import tool
from agent_framework.observability import enable_instrumentation
from agent_framework.openai import OpenAIChatCompletionClient
from opentelemetry import trace

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
enable_instrumentation(enable_sensitive_data=True)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


async def main():
    client = OpenAIChatCompletionClient(model=MODEL, base_url=MODEL_URL, api_key="stub")
    agent = client.as_agent(name="weather-agent", instructions=SYSTEM, tools=[get_weather])
    own = {"session.id": SESSION, "enduser.id": USER}
    with trace.get_tracer("weather-app").start_as_current_span("handle request", attributes=own):
        print((await agent.run(QUESTION)).text)


asyncio.run(main())
provider.force_flush()
