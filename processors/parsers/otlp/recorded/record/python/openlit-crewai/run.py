"""A crew of one agent, instrumented by OpenLIT for CrewAI and for the OpenAI client below it."""

import os

import openlit

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, USER, WEATHER

openlit.init(otlp_endpoint=os.environ["OTLP_URL"], application_name="weather-agent", disable_metrics=True)
from crewai import LLM, Agent, Crew, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402
from opentelemetry import trace  # noqa: E402


@tool("get_weather")
def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


llm = LLM(model="openai/" + MODEL, base_url=MODEL_URL, api_key="stub")
agent = Agent(role="weather-agent", goal="Answer questions", backstory=SYSTEM, tools=[get_weather], llm=llm)
task = Task(description=QUESTION, expected_output="One sentence", agent=agent, name="answer")
crew = Crew(agents=[agent], tasks=[task], name="weather-crew")
with openlit.start_trace("weather-chat") as span:
    span.set_metadata({"session.id": SESSION, "user.id": USER})
    print(crew.kickoff())
trace.get_tracer_provider().force_flush()
