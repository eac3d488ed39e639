"""A Haystack agent instrumented by OpenInference."""

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret
from openinference.instrumentation import using_attributes
from openinference.instrumentation.haystack import HaystackInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
HaystackInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


model = OpenAIChatGenerator(model=MODEL, api_base_url=MODEL_URL, api_key=Secret.from_token("stub"))
agent = Agent(chat_generator=model, tools=[get_weather], system_prompt=SYSTEM)
with using_attributes(session_id=SESSION, user_id=USER):
    print(agent.run(messages=[ChatMessage.from_user(QUESTION)])["messages"][-1].text)
provider.force_flush()
