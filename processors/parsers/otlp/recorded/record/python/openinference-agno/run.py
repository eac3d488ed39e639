"""An Agno agent instrumented by OpenInference; session and user are arguments of the run."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from openinference.instrumentation.agno import AgnoInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
AgnoInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


model = OpenAIChat(id=MODEL, base_url=MODEL_URL, api_key="stub")
agent = Agent(name="weather-agent", model=model, tools=[get_weather], instructions=SYSTEM, telemetry=False)
print(agent.run(QUESTION, session_id=SESSION, user_id=USER).content)
provider.force_flush()
