"""Claude's permission modes: which a project's tier leaves room for, and which a session has chosen. Pure."""

from typing import Final

from fairlead.errors import Code, FairleadError, error
from fairlead.runtimes.tool_policy import ToolPolicy

PLAN: Final = "plan"
ACCEPT_EDITS: Final = "acceptEdits"
BYPASS: Final = "bypassPermissions"
_ALWAYS: Final = ("default", PLAN, ACCEPT_EDITS)


class Modes:
    """The choices outlive the processes, and hold until Fairlead is restarted: a person who chose to have plans only
    must not get edits because the agent's process was idle for too long and was ended."""

    def __init__(self, *, may_bypass: bool) -> None:
        self.offered: Final = (*_ALWAYS, BYPASS) if may_bypass else _ALWAYS
        self._chosen: dict[str, str] = {}

    def choose(self, session_key: str, mode: str, policy: ToolPolicy) -> None:
        refusal = self._refusal(mode, policy)
        if refusal is not None:
            raise refusal
        self._chosen[session_key] = mode

    def get(self, session_key: str) -> str:
        """The mode that the session has chosen; empty for the mode that claude is started with."""
        return self._chosen.get(session_key, "")

    def get_allowed(self, session_key: str, policy: ToolPolicy) -> tuple[str, str]:
        """The chosen mode if the tier, as it is now, still allows it; otherwise no mode, and the reason."""
        mode = self.get(session_key)
        refusal = self._refusal(mode, policy) if mode else None
        if refusal is None:
            return mode, ""
        del self._chosen[session_key]
        return "", f"The mode {mode} is no longer active: {refusal.message}"

    def leave_plan(self, session_key: str) -> None:
        """Once a plan is approved, claude goes on in the mode it had before."""
        if self.get(session_key) == PLAN:
            del self._chosen[session_key]

    def _refusal(self, mode: str, policy: ToolPolicy) -> FairleadError | None:
        if mode == BYPASS and mode not in self.offered:
            return error(Code.E_MODE_UNAVAILABLE, f"The mode {BYPASS} needs CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS=1.")
        if mode not in self.offered:
            return error(Code.E_MODE_UNAVAILABLE, f"{mode[:60]!r} is not among {', '.join(self.offered)}.")
        if mode == ACCEPT_EDITS and not policy.has("Edit", "Write"):
            tier = f"The tier {policy.tier}" if policy.tier else "RUNTIME_TOOLS"
            return error(
                Code.E_MODE_UNAVAILABLE, f"{tier} allows no edits, so edits cannot be accepted without asking."
            )
        return None
