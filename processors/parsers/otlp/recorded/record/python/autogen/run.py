"""An AutoGen assistant inside a span of the application."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from opentelemetry import trace

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()


async def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


async def main():
    client = OpenAIChatCompletionClient(model=MODEL, base_url=MODEL_URL, api_key="stub")
    agent = AssistantAgent(
        "weather_agent", model_client=client, tools=[get_weather], system_message=SYSTEM, reflect_on_tool_use=True
    )
    own = {"session.id": SESSION, "enduser.id": USER, "input": QUESTION}
    with trace.get_tracer("weather-app").start_as_current_span("handle request", attributes=own) as turn:
        result = await agent.run(task=QUESTION)
        turn.set_attribute("output", result.messages[-1].content)
        print(result.messages[-1].content)


asyncio.run(main())
provider.force_flush()
