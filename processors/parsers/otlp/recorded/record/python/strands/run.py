"""A Strands agent; its own spans, session and user as trace attributes."""

from strands import Agent, tool
from strands.models.openai import OpenAIModel

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


model = OpenAIModel(client_args={"base_url": MODEL_URL, "api_key": "stub"}, model_id=MODEL)
agent = Agent(
    name="weather-agent",
    model=model,
    system_prompt=SYSTEM,
    tools=[get_weather],
    trace_attributes={"session.id": SESSION, "user.id": USER, "plan": "pro"},
    callback_handler=None,
)
print(agent(QUESTION))
provider.force_flush()
