"""Fairlead itself in a process of its own, in front of one real ACP agent that it finds on PATH, as people have it."""

from pathlib import Path

from .acp_program import AcpName, acp_agent
from .acp_stage import EXTRA_ENVIRONMENT, KNOWN_AS
from .daemon import Daemon
from .environment import bin_with
from .model_server import ModelServer


class AcpDaemon(Daemon):
    """`others` are further programs on PATH, e.g. `codex` beside `codex-acp`."""

    def __init__(
        self, agent: AcpName, home: Path, server: ModelServer, others: tuple[str, ...] = (), **settings: str
    ) -> None:
        program = acp_agent(agent, home, server)
        self._surround(KNOWN_AS[agent], home, acp_settings(program.env, home, agent, *others) | settings)


def acp_settings(environment: dict[str, str], home: Path, *programs: str) -> dict[str, str]:
    """The agent's own variables, and a PATH on which these programs are found and no other agent."""
    return {
        **environment,
        "PATH": f"{bin_with(home / 'on-path', *programs)}:/usr/local/bin:/usr/bin:/bin",
        "FAIRLEAD_RUNTIME_ENVIRONMENT": ",".join(EXTRA_ENVIRONMENT),
    }
