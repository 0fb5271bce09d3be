"""What an ACP agent is started with, and what one turn asks of it. Plain data."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from fairlead.core.engine import ForkOrigin
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.prompt_blocks import PromptBlocks
from fairlead.runtimes.acp.tier import Tier


class AgentLaunch(msgspec.Struct, frozen=True):
    """What a process is started with. Equal launches can serve the same turns."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


class AgentTurn(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn asks of the agent. The blocks are made when the agent has said which kinds it takes; an empty mode
    is the one that sessions of this agent begin with."""

    make_blocks: Callable[[wire.PromptCapabilities], Awaitable[PromptBlocks]]
    resume_key: str | None
    fork: ForkOrigin | None = None
    tier: Tier
    model: str = ""
    mode: str = ""
    allowed: tuple[str, ...] = ()
