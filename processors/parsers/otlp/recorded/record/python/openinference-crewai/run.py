"""A crew of one agent, instrumented by OpenInference for CrewAI and for the OpenAI client below it."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation import using_attributes
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER, start_tracing

provider = start_tracing(register=False)
CrewAIInstrumentor().instrument(tracer_provider=provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)


@tool("get_weather")
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


llm = LLM(model="openai/" + MODEL, base_url=MODEL_URL, api_key="stub")
agent = Agent(role="weather-agent", goal="Answer questions", backstory=SYSTEM, tools=[get_weather], llm=llm)
task = Task(description=QUESTION, expected_output="One sentence", agent=agent, name="answer")
crew = Crew(agents=[agent], tasks=[task], name="weather-crew")
with using_attributes(session_id=SESSION, user_id=USER):
    print(crew.kickoff())
provider.force_flush()
