"""The OpenAI Agents SDK for Python (chat completions), exported by OpenInference's trace processor."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


async def main():
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI(base_url=MODEL_URL, api_key="stub"))
    agent = Agent(name="weather-agent", instructions=SYSTEM, model=model, tools=[get_weather])
    with using_attributes(session_id=SESSION, user_id=USER):
        print((await Runner.run(agent, QUESTION)).final_output)


asyncio.run(main())
provider.force_flush()
