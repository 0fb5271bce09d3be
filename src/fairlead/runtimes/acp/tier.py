"""A project's tier, held by the agent's own questions: a tool that the tier forbids is refused without asking anybody.
Pure."""

import msgspec

from fairlead.errors import Code, error
from fairlead.runtimes.acp.quirks import Quirks
from fairlead.runtimes.tool_policy import FULL, ToolPolicy


class Tier(msgspec.Struct, frozen=True):
    policy: ToolPolicy = ToolPolicy(FULL)

    @property
    def is_everything(self) -> bool:
        return self.policy.is_everything

    def forbids(self, tool: str) -> str:
        """Why the tool may not be used, in words for the person; empty if it may."""
        if self.policy.allows(tool):
            return ""
        return f"{tool} was refused: {self._name} does not allow it here."

    def strict_mode(self, agent: str, quirks: Quirks) -> str:
        """The mode in which the tier can be held. Raises E_PERMISSION_TIER where none is known."""
        if quirks.strict_mode is None:
            words = f"It is unknown whether {agent} asks before every change, so {self._name} cannot be enforced."
            raise error(Code.E_PERMISSION_TIER, words)
        return quirks.strict_mode

    def cannot_be_held(self, agent: str, mode: str) -> str:
        return (
            f"{agent} has no mode {mode!r}, in which it would ask before every change: {self._name} cannot be enforced."
        )

    def was_left(self, agent: str, mode: str) -> str:
        return (
            f"{agent} changed to the mode {mode!r}, in which it may not ask before every change: {self._name} could"
            " no longer be enforced, so the agent was ended."
        )

    @property
    def _name(self) -> str:
        return f"the tier {self.policy.tier}" if self.policy.tier else "RUNTIME_TOOLS"
