"""The calls that agents of this machine make of Fairlead's own tools: the daemon carries them out. A call waits while
the daemon is away, and is told again to every new one; its id says that it is the same."""

import asyncio
from typing import Any

from fairlead.core.agent_tools import TOOL_NAMES, ToolHolder
from fairlead.core.machines.messages import ToolCalled, ToolReplied
from fairlead.ports import ToolReply
from fairlead.runner.book import ToDaemon


class RemoteTools:
    """ports.ToolHandler and runner.runner.ToolReplies. Whose `daemon` it is, is said after it was made. `names` are the
    tools that this machine offers its agents."""

    def __init__(self, names: tuple[str, ...] = TOOL_NAMES) -> None:
        self._names = names
        self.daemon: ToDaemon | None = None
        self._waiting: dict[str, tuple[ToolCalled, asyncio.Future[ToolReply]]] = {}

    def tools_of(self, holder: ToolHolder) -> tuple[str, ...]:
        """All of them: the daemon knows which of them this agent may use, and says so when one is called."""
        del holder
        return self._names

    async def call(self, holder: ToolHolder, *, call_id: str, tool: str, arguments: dict[str, Any]) -> ToolReply:
        if tool not in self._names:
            return ToolReply(f"There is no tool {tool[:60]!r}.", ok=False)
        if call_id not in self._waiting:
            called = ToolCalled(call_id=call_id, holder=holder, tool=tool, arguments=arguments)
            self._waiting[call_id] = (called, asyncio.get_running_loop().create_future())
            self._tell(called)
        try:
            return await asyncio.shield(self._waiting[call_id][1])
        finally:
            self._waiting.pop(call_id, None)

    def _tell(self, called: ToolCalled) -> None:
        if self.daemon is not None and self.daemon.is_up:
            self.daemon.tell(called)

    # --- runner.runner.ToolReplies

    def on_reply(self, replied: ToolReplied) -> None:
        _, reply = self._waiting.get(replied.call_id, (None, None))
        if reply is not None and not reply.done():
            reply.set_result(ToolReply(replied.text, ok=replied.ok))

    def repeat(self) -> None:
        for called, reply in list(self._waiting.values()):
            if not reply.done():
                self._tell(called)
