"""A Pydantic AI agent with its own OpenTelemetry instrumentation; the session is the conversation id of the run."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
Agent.instrument_all()
model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=MODEL_URL, api_key="stub"))
agent = Agent(model, name="weather-agent", instructions=SYSTEM)


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


print(agent.run_sync(QUESTION, conversation_id=SESSION, metadata={"user_id": USER, "plan": "pro"}).output)
provider.force_flush()
