"""An ACP agent is asked for its sessions: listed by directory, repeated, and never left running."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.core.agent_sessions import Exchange
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.acp.agent_turn import AgentLaunch
from fairlead.runtimes.acp.first_start import FirstStart
from fairlead.runtimes.acp.quirks import quirks_of
from fairlead.runtimes.acp.records import AcpRecords
from tests.support.configured_agents import ScriptedAgent

pytestmark = [pytest.mark.anyio, pytest.mark.req("F8", "F9")]


def records_of(agent: ScriptedAgent, home: Path) -> AcpRecords:
    environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    return AcpRecords(
        agent.name,
        lambda directory: AgentLaunch((str(agent.program),), directory, environment),
        environment,
        mark=f"fairlead-test-{os.getpid()}:records",
        first_start=FirstStart(),
    )


def leave_session(home: Path, name: str, key: str, cwd: Path, *said: tuple[str, str]) -> None:
    """What an earlier process of the agent left on disk."""
    history = [
        {"sessionUpdate": f"{who}_message_chunk", "content": {"type": "text", "text": text}} for who, text in said
    ]
    data = {"session_id": key, "cwd": str(cwd), "title": said[0][1][:40], "model": "m", "mode": "default"}
    more = {"thought_level": "medium", "is_fast": False, "allows_all": "off", "facts": {}, "history": history}
    directory = home / f"{name}.sessions"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{key}.json").write_text(json.dumps(data | more | {"spent": [0, 0, 0], "always": []}))


@asynccontextmanager
async def an_agent(home: Path, **switches: object) -> AsyncIterator[tuple[ScriptedAgent, AcpRecords]]:
    agent = ScriptedAgent(home, "goose", **switches)
    yield agent, records_of(agent, home)


async def test_records_of_this_directory_are_listed_and_repeated(tmp_path: Path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    leave_session(tmp_path, "goose", "s1", here, ("user", "my name "), ("user", "is Alice"), ("agent", "Noted."))
    leave_session(tmp_path, "goose", "s2", elsewhere, ("user", "other"), ("agent", "yes"))
    async with an_agent(tmp_path) as (_, records):
        assert [one.key for one in await records.list_sessions(str(here))] == ["s1"]
        read = await records.read_session(str(here), "s1")
        assert read is not None
        assert (read.latest, read.position) == ((Exchange("my name is Alice", "Noted."),), "exchanges:1")
        again = await records.read_session(str(here), "s1", read.position)
        assert again is not None
        assert (again.exchanges, again.latest) == (0, ())
        assert await records.read_session(str(here), "s2") is None
        assert await records.find_writers(str(here), "s1") == ()


async def test_an_agent_that_lists_nothing_says_so_and_one_that_does_not_start_too(tmp_path: Path):
    async with an_agent(tmp_path, capabilities="load") as (_, records):
        with pytest.raises(FairleadError) as caught:
            await records.list_sessions(str(tmp_path))
        assert caught.value.code is Code.E_SESSION_STATE
    missing = AcpRecords(
        "missing",
        lambda directory: AgentLaunch((str(tmp_path / "missing"),), directory, {}),
        {},
        mark=f"fairlead-test-{os.getpid()}:records",
        first_start=FirstStart(),
    )
    with pytest.raises(FairleadError) as caught:
        await missing.list_sessions(str(tmp_path))
    assert caught.value.code is Code.E_CLI_NOT_FOUND


async def test_resume_command_is_known_for_known_agents_alone(tmp_path: Path):
    async with an_agent(tmp_path) as (_, records):
        assert await records.resume_command(str(tmp_path), "s1") is None
        records.learn(quirks_of("OpenCode"))
        command = await records.resume_command(str(tmp_path), "s1")
        assert command is not None
        assert command.argv == ("opencode", "--session", "s1")
