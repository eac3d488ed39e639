"""A LangChain agent traced by LangSmith in its OpenTelemetry mode, which takes the whole URL from the endpoint variable."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_core.tracers.langchain import wait_for_all_tracers
from langchain_openai import ChatOpenAI

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


model = ChatOpenAI(model=MODEL, base_url=MODEL_URL, api_key="stub")
agent = create_agent(model, tools=[get_weather], system_prompt=SYSTEM, name="weather-agent")
result = agent.invoke(
    {"messages": [{"role": "user", "content": QUESTION}]},
    {"metadata": {"thread_id": SESSION, "user_id": USER, "plan": "pro"}},
)
print(result["messages"][-1].content)
wait_for_all_tracers()
from opentelemetry import trace  # noqa: E402

getattr(trace.get_tracer_provider(), "force_flush", lambda: None)()
