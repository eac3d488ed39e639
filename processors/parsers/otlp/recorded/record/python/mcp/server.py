"""A weather server over stdio."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("weather")


@server.tool()
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "18 °C and sunny in Paris"


server.run()
