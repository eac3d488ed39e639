"""A Semantic Kernel agent with sensitive diagnostics on, inside a span of the application."""

import asyncio

from openai import AsyncOpenAI
from opentelemetry import trace

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
from semantic_kernel.agents import ChatCompletionAgent  # noqa: E402
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion  # noqa: E402
from semantic_kernel.functions import kernel_function  # noqa: E402


class Weather:
    @kernel_function(name="get_weather", description="The weather in a city")
    def get_weather(self, city: str) -> str:
        return WEATHER


async def main():
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=AsyncOpenAI(base_url=MODEL_URL, api_key="stub"))
    agent = ChatCompletionAgent(service=service, name="weather-agent", instructions=SYSTEM, plugins=[Weather()])
    own = {"service.session_id": SESSION, "service.user_id": USER}
    with trace.get_tracer("weather-app").start_as_current_span("handle request", attributes=own):
        print(await agent.get_response(messages=QUESTION))


asyncio.run(main())
provider.force_flush()
