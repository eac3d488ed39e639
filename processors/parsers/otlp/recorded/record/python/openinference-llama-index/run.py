"""A LlamaIndex function agent instrumented by OpenInference, streaming."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
LlamaIndexInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


async def main():
    llm = OpenAI(model=MODEL, api_base=MODEL_URL, api_key="stub", additional_kwargs={"stream_options": {"include_usage": True}})
    agent = FunctionAgent(name="weather-agent", tools=[get_weather], llm=llm, system_prompt=SYSTEM)
    with using_attributes(session_id=SESSION, user_id=USER, metadata={"plan": "pro"}, tags=["weather"]):
        print(await agent.run(QUESTION))


asyncio.run(main())
provider.force_flush()
