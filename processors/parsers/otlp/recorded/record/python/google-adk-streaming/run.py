"""An agent of Google's Agent Development Kit with Gemini, whose answers come in pieces; its own spans."""

import asyncio
import os

from common import QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

os.environ["GOOGLE_GEMINI_BASE_URL"] = os.environ["MODEL_URL"]
provider = start_tracing()
from google.adk.agents import Agent  # noqa: E402
from google.adk.agents.run_config import RunConfig, StreamingMode  # noqa: E402
from google.adk.runners import Runner  # noqa: E402
from google.adk.sessions import InMemorySessionService  # noqa: E402
from google.genai import types  # noqa: E402


def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


async def main():
    agent = Agent(name="weather_agent", model="gemini-2.5-flash", instruction=SYSTEM, tools=[get_weather])
    sessions = InMemorySessionService()
    await sessions.create_session(app_name="weather", user_id=USER, session_id=SESSION)
    runner = Runner(app_name="weather", agent=agent, session_service=sessions)
    message = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    streaming = RunConfig(streaming_mode=StreamingMode.SSE)
    async for event in runner.run_async(user_id=USER, session_id=SESSION, new_message=message, run_config=streaming):
        if event.is_final_response():
            print(event.content.parts[0].text)


asyncio.run(main())
provider.force_flush()
