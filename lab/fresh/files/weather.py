"""A user's own server on fastmcp, with a static bearer token or with TLS."""
import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

port, mode = int(sys.argv[1]), sys.argv[2]
auth = StaticTokenVerifier(tokens={"t-8d1c": {"client_id": "desk", "scopes": []}}) if mode == "token" else None
tls = {"ssl_certfile": "cert.pem", "ssl_keyfile": "key.pem"} if mode == "tls" else {}
mcp = FastMCP("weather", auth=auth)


@mcp.tool
def forecast(city: str) -> str:
    """Returns the forecast for a city."""
    return f"{city}: sun"


mcp.run(transport="http", host="127.0.0.1", port=port, uvicorn_config=tls)
