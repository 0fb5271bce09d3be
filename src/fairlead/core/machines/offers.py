"""What a runner can run. Apart from the other messages, which only a daemon with machines needs."""

from typing import Any

import msgspec


class AgentOffer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An agent that a runner can run. `capabilities` are those of its runtime, as a mapping: an older daemon ignores
    what it does not know. `source` and `version` are of an agent that a person added there."""

    name: str
    capabilities: dict[str, Any] = {}
    source: str = ""
    version: str = ""
