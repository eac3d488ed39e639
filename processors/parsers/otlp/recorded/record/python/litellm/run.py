"""LiteLLM with its OpenTelemetry callback; a loop of the application, session and user as metadata of the calls."""

import os

os.environ.update(OTEL_EXPORTER="otlp_http", OTEL_ENDPOINT=os.environ["OTLP_URL"] + "/v1/traces")
import litellm  # noqa: E402

from common import MODEL, MODEL_URL, QUESTION, SESSION, SYSTEM, TOOL, USER, WEATHER  # noqa: E402

litellm.callbacks = ["otel"]
messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
for _ in range(2):
    message = (
        litellm.completion(
            model="openai/" + MODEL,
            api_base=MODEL_URL,
            api_key="stub",
            messages=messages,
            tools=[TOOL],
            user=USER,
            metadata={"session_id": SESSION, "user_api_key_end_user_id": USER},
        )
        .choices[0]
        .message
    )
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or []:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": WEATHER})
print(message.content)
import time  # noqa: E402

time.sleep(2)
from opentelemetry import trace  # noqa: E402

getattr(trace.get_tracer_provider(), "force_flush", lambda: None)()
