"""An MCP client, instrumented by Traceloop, that calls a tool of a server over stdio; no model."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry import trace
from opentelemetry.instrumentation.mcp import McpInstrumentor

from common import QUESTION, SESSION, USER, start_tracing

provider = start_tracing()
McpInstrumentor().instrument(tracer_provider=provider)


async def main():
    async with stdio_client(StdioServerParameters(command=sys.executable, args=["server.py"])) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            own = {"session.id": SESSION, "user.id": USER, "input": QUESTION}
            with trace.get_tracer("weather-app").start_as_current_span("weather-agent", attributes=own) as turn:
                result = await session.call_tool("get_weather", {"city": "Paris"})
                turn.set_attribute("output", result.content[0].text)
                print(result.content[0].text)


asyncio.run(main())
provider.force_flush()
