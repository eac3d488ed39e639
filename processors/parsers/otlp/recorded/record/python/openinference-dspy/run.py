"""A DSPy ReAct program instrumented by OpenInference: tools are called in the text of the answers."""

import dspy
from openinference.instrumentation import using_attributes
from openinference.instrumentation.dspy import DSPyInstrumentor

from common import MODEL, MODEL_URL, QUESTION, SESSION, USER, WEATHER, start_tracing

provider = start_tracing()
DSPyInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return WEATHER


dspy.configure(lm=dspy.LM("openai/" + MODEL, api_base=MODEL_URL, api_key="stub", cache=False))
program = dspy.ReAct("question -> answer", tools=[get_weather])
with using_attributes(session_id=SESSION, user_id=USER):
    print(program(question=QUESTION).answer)
provider.force_flush()
