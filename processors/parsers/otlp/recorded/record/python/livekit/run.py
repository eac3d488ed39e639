"""A LiveKit agent session without a room: the user writes, a tool is called, the agent answers."""

import asyncio

from livekit.agents import Agent, AgentSession, function_tool, telemetry
from livekit.plugins import openai

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
telemetry.set_tracer_provider(provider, metadata={"session.id": SESSION, "user.id": USER})


class Weather(Agent):
    def __init__(self):
        super().__init__(instructions=SYSTEM)

    @function_tool
    async def get_weather(self, city: str) -> str:
        """The weather in a city."""
        return WEATHER


async def main():
    async with AgentSession(llm=openai.LLM(model=MODEL, base_url=MODEL_URL, api_key="stub")) as session:
        await session.start(Weather())
        result = await session.run(user_input=QUESTION)
        print(result.events[-1])


asyncio.run(main())
provider.force_flush()
