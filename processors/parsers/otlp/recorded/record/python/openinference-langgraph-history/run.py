"""A LangChain agent (LangGraph) without a memory: it is given the whole history, and its tool says that it failed."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, start_tracing

provider = start_tracing()
LangChainInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    raise ToolException("The station does not answer")


# Then its message has the status of an error, and its run ends as any other.
get_weather.handle_tool_error = True
model = ChatOpenAI(model=MODEL, base_url=MODEL_URL, api_key="stub")
agent = create_agent(model, tools=[get_weather], system_prompt=SYSTEM, name="weather-agent")
history = [HumanMessage("Hello"), AIMessage("Hello, how can I help?"), HumanMessage(QUESTION)]
result = agent.invoke({"messages": history}, {"metadata": {"thread_id": SESSION, "user_id": USER, "plan": "pro"}})
print(result["messages"][-1].content)
provider.force_flush()
