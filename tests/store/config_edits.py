"""A daemon whose config.json people read and edit."""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.app import Daemon, run_daemon
from fairlead.core import requests as ask
from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import user_key
from fairlead.core.requests import Caller
from fairlead.errors import FairleadError
from tests.support.settings import make_settings


@asynccontextmanager
async def run_daemon_in(directory: Path, *, disk=None, **more):
    settings = make_settings(STATE_DIR=directory / "state", LOG_DIR=directory / "logs", FAIRLEAD_HTTP=False, **more)
    async with run_daemon(settings, **({"disk": disk} if disk else {})) as daemon:
        yield daemon


def config(directory: Path) -> dict:
    return json.loads((directory / "state" / "config.json").read_text())


def edit(directory: Path, change) -> None:
    content = config(directory)
    change(content)
    (directory / "state" / "config.json").write_text(json.dumps(content, indent=2))


async def shown(directory: Path, name: str) -> None:
    """Returns when the copy shows this project; it is written by a thread that nobody waits for."""
    async with asyncio.timeout(60):
        while name not in (await asyncio.to_thread(config, directory))["projects"]:
            pass


async def command(daemon: Daemon, request: ask.Request):
    caller = Caller(
        person="me",
        conversation=ConversationRef("http", "local", "me"),
        session_key=user_key(agent_id="fairlead", user_id="me"),
        pre_authorised=True,
    )
    return await daemon.flow.gate.command(request, caller)


async def refused(directory: Path, **more) -> FairleadError:
    with pytest.raises(FairleadError) as caught:
        async with run_daemon_in(directory, **more):
            pass
    return caught.value
