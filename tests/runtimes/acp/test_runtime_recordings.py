"""What real agents were recorded to say, said again to the whole runtime: the answers, the tools, the permissions."""

import asyncio
import sys
from pathlib import Path

import pytest

from fairlead.core.engine import (
    INTERRUPTED,
    Diagnostic,
    PermissionRequested,
    ResumeKeyFound,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from fairlead.runtimes.acp.runtime import AcpRuntime
from fairlead.runtimes.acp.turn_ends import REFUSED
from tests.runtimes.acp import replaying_agent
from tests.runtimes.acp.harness import AcpStage, Talk, deny
from tests.runtimes.acp.recordings import NAMES, turns_in
from tests.support.replaying_cli import TRANSCRIPTS
from tests.support.runtime_contract import closing, only

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4", "E1")]


def recorded(scene: str) -> list[str]:
    return [name for name in NAMES if name.endswith(f"/{scene}")]


def runtime_of(stage: AcpStage, name: str) -> AcpRuntime:
    dialogue = TRANSCRIPTS / f"{name}.duplex.jsonl"
    return stage.runtime_with(sys.executable, "-S", "-P", replaying_agent.__file__, str(dialogue))


def said_in(name: str) -> list[str]:
    """The words of each recorded turn, without blanks: paragraphs are Fairlead's."""
    spoken: list[str] = []
    for sent, _ in turns_in(name):
        updates = [message["params"]["update"] for message in sent if message.get("method") == "session/update"]
        chunks = [one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk"]
        spoken.append("".join("".join(chunks).split()))
    return spoken


def words_of(last: object) -> str:
    assert isinstance(last, TurnEnded), last
    return "".join(last.text.split())


@pytest.mark.parametrize("name", recorded("07a-basic"))
async def test_two_turns_of_a_real_agent(tmp_path: Path, name: str):
    stage = AcpStage(tmp_path)
    async with closing(runtime_of(stage, name)) as runtime:
        talk = Talk(stage, runtime)
        first, second = await talk.say("first"), await talk.say("second")
        assert [words_of(events[-1]) for events in (first, second)] == said_in(name)
        assert len(only(ResumeKeyFound, first)) == 1
        assert [len(only(UsageReported, events)) for events in (first, second)] == [1, 1]
        info = runtime.describe("s")
        assert (info.state, info.takes_prompt_at_once) == ("Active", True)
    unread = [event.text for event in only(Diagnostic, [*first, *second])]
    assert [words for words in unread if "_auth/status_update" not in words] == []


@pytest.mark.parametrize("name", recorded("07b-tool-allow"))
async def test_a_tool_that_a_real_agent_was_allowed(tmp_path: Path, name: str):
    stage = AcpStage(tmp_path)
    async with closing(runtime_of(stage, name)) as runtime:
        events = await Talk(stage, runtime).say("run it")
    assert [words_of(events[-1])] == said_in(name)
    [started], [ended] = only(ToolStarted, events), only(ToolEnded, events)
    assert (started.name, ended.ok) == ("Bash", True)
    asked = [(ask.tool, "touch made-allow" in ask.detail) for ask in only(PermissionRequested, events)]
    assert asked == ([] if name.startswith("codex") else [("Bash", True)])


@pytest.mark.parametrize("name", recorded("07b-tool-deny"))
async def test_a_tool_that_a_real_agent_was_denied(tmp_path: Path, name: str):
    stage = AcpStage(tmp_path)
    async with closing(runtime_of(stage, name)) as runtime:
        events = await Talk(stage, runtime).say("run it", deny)
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert last.stop_reason in {"", REFUSED}
    if not name.startswith("codex"):
        [asked] = only(PermissionRequested, events)
        assert "touch made-deny" in asked.detail


@pytest.mark.parametrize("name", recorded("07d-cancel-stream"))
async def test_a_real_agent_that_is_cancelled_while_it_speaks(tmp_path: Path, name: str):
    stage = AcpStage(tmp_path)
    async with closing(runtime_of(stage, name)) as runtime:
        talk = Talk(stage, runtime)
        working = asyncio.create_task(talk.say("speak"))
        await talk.until_heard(lambda event: isinstance(event, TextDelta))
        await talk.interrupt()
        last = (await working)[-1]
    assert isinstance(last, TurnEnded)
    assert last.stop_reason == INTERRUPTED
