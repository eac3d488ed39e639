"""A smolagents tool-calling agent instrumented by OpenInference; it answers by a tool of its own."""

from openinference.instrumentation import using_attributes
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

from common import MODEL, MODEL_URL, QUESTION, SESSION, USER, WEATHER, start_tracing

provider = start_tracing()
SmolagentsInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: The name of the city.
    """
    return WEATHER


model = OpenAIServerModel(model_id=MODEL, api_base=MODEL_URL, api_key="stub")
agent = ToolCallingAgent(tools=[get_weather], model=model, name="weather_agent", description="Answers questions about the weather")
with using_attributes(session_id=SESSION, user_id=USER):
    print(agent.run(QUESTION))
provider.force_flush()
