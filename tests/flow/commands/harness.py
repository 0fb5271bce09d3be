"""What the tests of several commands share."""

from typing import Any

import pytest

from fairlead.core import requests as ask
from fairlead.errors import Code, FairleadError
from fairlead.render.errors import error_text
from fairlead.testing.runtime import AgentLog, ScriptedRuntime


async def refused(work) -> Code:
    with pytest.raises(FairleadError) as caught:
        await work
    assert error_text(caught.value).next_step, "every refusal says what to do next"
    return caught.value.code


def a_project(name: str, **different: Any) -> ask.ProjectCreate:
    usual: dict[str, Any] = {"path": "/srv/web", "tools": ("echo",), "default_tool": "echo"}
    return ask.ProjectCreate(name=name, **(usual | different))


def two_tools() -> list:
    return [ScriptedRuntime(AgentLog(), name=name) for name in ("echo", "other")]
