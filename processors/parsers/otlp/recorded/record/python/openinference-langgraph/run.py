"""A LangChain agent (LangGraph) instrumented by OpenInference; the session is the thread, the user metadata of the run."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing()
LangChainInstrumentor().instrument(tracer_provider=provider)


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
provider.force_flush()
