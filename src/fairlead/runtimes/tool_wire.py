"""What `fairlead mcp` and the daemon say to each other: one JSON object a line, over a socket of this machine."""

from typing import Any, Final

import msgspec

GRANT_VARIABLE: Final = "FAIRLEAD_MCP_GRANT"
"""The environment variable that names the file with the capability. The file is 0600, and gone with the agent."""
NAMES_VARIABLE: Final = "FAIRLEAD_MCP_NAMES"
"""Other names for tools, `ask_user=ask_person`: Gemini removes every tool with the name of one that it has removed."""
SERVER_NAME: Final = "fairlead"
"""The name under which agents know the server; each agent makes its own names of the tools from it."""
MAX_LINE: Final = 1024 * 1024


class Grant(msgspec.Struct, frozen=True):
    """What the file holds."""

    socket: str
    token: str


class ListTools(msgspec.Struct, frozen=True, tag_field="ask", tag="list"):
    token: str


class CallTool(msgspec.Struct, frozen=True, tag_field="ask", tag="call"):
    """`call_id` is the same however often the call is sent, so that it is carried out once."""

    token: str
    call_id: str
    tool: str
    arguments: dict[str, Any] = {}


class CallReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """`tools` are the names of the tools that the agent has now; `text` is what it is told about a call."""

    ok: bool = True
    text: str = ""
    tools: tuple[str, ...] = ()


Asked = ListTools | CallTool
REFUSED: Final = "This capability is not valid: it belongs to an agent that has ended, or to another session."
