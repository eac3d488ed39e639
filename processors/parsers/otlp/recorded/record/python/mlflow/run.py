"""MLflow's tracing around the OpenAI client, exported over OTLP."""

import json
import os

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTLP_URL"] + "/v1/traces"
os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
import mlflow  # noqa: E402
import openai  # noqa: E402

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER  # noqa: E402

mlflow.openai.autolog()
client = openai.OpenAI(base_url=MODEL_URL, api_key="stub")


@mlflow.trace(name="get_weather", span_type="TOOL")
def get_weather(city):
    return WEATHER


@mlflow.trace(name="weather-agent", span_type="AGENT")
def answer(question):
    mlflow.update_current_trace(metadata={"mlflow.trace.session": SESSION, "mlflow.trace.user": USER})
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


print(answer(QUESTION))
mlflow.flush_trace_async_logging()
