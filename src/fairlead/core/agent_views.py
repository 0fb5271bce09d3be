"""What is known of an agent: what its program said of itself when it was last checked, and who uses it. Frozen."""

import msgspec

from fairlead.core.replies import AgentCheckRow


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """`check` is None until somebody had the agents checked; `source` and `version` are of a configured agent."""

    name: str
    source: str = ""
    version: str = ""
    projects: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    running: int = 0
    check: AgentCheckRow | None = None


class AgentsView(msgspec.Struct, frozen=True):
    """`checked_at` is empty until somebody had the agents checked."""

    agents: tuple[AgentView, ...] = ()
    checked_at: str = ""
