"""The pool of long-lived Claudes: states, limits, eviction, and the one second attempt. A replaying claude."""

import asyncio
import json
import os
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import (
    INTERRUPTED,
    Diagnostic,
    EngineEvent,
    HandingOver,
    InputFile,
    Interrupt,
    PermissionRequested,
    Ready,
    ResumeKeyFound,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.ports import Runtime
from fairlead.runtimes.claude.session_log import log_directory_name
from tests.runtimes.harness import ReplayStage
from tests.support.replaying_cli import write_shim
from tests.support.runtime_contract import closing, invocation, key_in, only, processes_of, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("E7")]


TWO_TURNS = "claude/04a-two-turns-one-process"
PERMISSION = "claude/04d-perm-stdio-allow"


@pytest.fixture
def stage(tmp_path: Path) -> ReplayStage:
    return ReplayStage("claude in a pool", tmp_path)


def turn_for(stage: ReplayStage, session: str, **changes: Any) -> Any:
    return invocation(
        stage.root, "hello", session_key=session, mark=f"{stage.root.name}-{os.getpid()}:{session}", **changes
    )


def first_one_then_another(
    stage: ReplayStage, settings: dict[str, Any], *, writes_it_down: bool = True, **faults: object
) -> Runtime:
    """The first process has the faults, the next has none. The first may write its talk down, as the real one does."""
    bad = write_shim(stage.root / "bad", "claude", TWO_TURNS, notes=stage.notes, **faults)
    good = write_shim(stage.root / "good", "claude", TWO_TURNS, notes=stage.notes)
    logs = stage.root / "home" / ".claude" / "projects" / log_directory_name(str(stage.root / "project"))
    logs.mkdir(parents=True)
    written = f'for key; do :; done; : > {logs}/"$key".jsonl' if writes_it_down else ":"
    seen = stage.root / "seen"
    chooser = stage.root / "claude"
    chooser.write_text(f'#!/bin/sh\n[ -e {seen} ] && exec {good} "$@"\n: > {seen}\n{written}\nexec {bad} "$@"\n')
    chooser.chmod(0o755)
    return stage.runtime_with(str(chooser), **settings)


async def test_two_turns_share_a_process(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        first = await run(runtime, turn_for(stage, "s"))
        second = await run(runtime, turn_for(stage, "s", resume_key=key_in(first), job_id="job_2"))
        info = runtime.describe("s")
        assert (info.state, info.takes_prompt_at_once) == ("Active", True)

    assert [event.text for event in (first[-1], second[-1]) if isinstance(event, TurnEnded)] == [
        "ECHO users=1 images=0 toolresults=0 last=first",
        "ECHO users=2 images=0 toolresults=0 last=second",
    ]
    assert len(stage.runs()) == 1
    assert runtime.describe("s").state == "Closed"


async def test_a_process_is_asked_once_what_it_offers_however_little_it_says(stage: ReplayStage):
    """The second prompt goes alone: whatever is written before a prompt, the agent reads before it."""
    heard, agent = stage.root / "heard", stage.root / "claude"
    agent.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        "for line in sys.stdin:\n"
        f"    open({str(heard)!r}, 'a').write(line)\n"
        "    said = json.loads(line)\n"
        "    if said['type'] == 'user':\n"
        "        end = dict(type='result', subtype='success', result='done', user_message_uuid=said['uuid'])\n"
        "        print(json.dumps(end), flush=True)\n"
    )
    agent.chmod(0o755)
    async with closing(stage.runtime_with(str(agent))) as runtime:
        first = await run(runtime, turn_for(stage, "s"))
        await run(runtime, turn_for(stage, "s", resume_key=key_in(first), job_id="job_2"))
    assert [json.loads(line)["type"] for line in heard.read_text().splitlines()] == ["control_request", "user", "user"]


@pytest.mark.req("E2", "A9")
async def test_the_id_of_a_new_talk_is_known_before_anything_runs(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        turn = turn_for(stage, "s")
        async with aclosing(runtime.invoke(turn)) as stream:
            assert await anext(stream) == Ready()
            first = await anext(stream)
            assert isinstance(first, ResumeKeyFound)
            assert processes_of(turn) == []
            assert not stage.notes.exists()
            async for _ in stream:
                pass
    [seen] = stage.runs()
    assert seen["argv"][-2:] == ["--session-id", first.key]


@pytest.mark.parametrize(("writes_it_down", "flag"), [(True, "-r"), (False, "--session-id")])
async def test_a_hang_before_any_tool_is_tried_once_more(stage: ReplayStage, flag: str, *, writes_it_down: bool):
    settings = {"hang_timeout_sec": 2.0}  # the second process must be able to start within it
    async with closing(first_one_then_another(stage, settings, writes_it_down=writes_it_down, hang=4)) as runtime:
        events = await run(runtime, turn_for(stage, "s"))

    assert any("printed no output for 2 s" in note.text for note in only(Diagnostic, events))
    assert isinstance(events[-1], TurnEnded)
    key = only(ResumeKeyFound, events)[0].key
    assert [seen["argv"][-2:] for seen in stage.runs()] == [["--session-id", key], [flag, key]]


async def test_a_second_attempt_that_hangs_is_the_last(stage: ReplayStage):
    settings = {"hang_timeout_sec": 0.3}
    async with closing(first_one_then_another(stage, settings, hang=4)) as runtime:
        events = await run(runtime, turn_for(stage, "s", is_second_attempt=True))

    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_RUNTIME_HUNG
    assert len(stage.runs()) == 1


async def test_a_process_of_its_own_that_hangs_too_is_ended_after_the_same_silence(stage: ReplayStage):
    async with closing(stage.runtime("answers", hang=4, settings={"hang_timeout_sec": 1.0})) as runtime:
        turn = turn_for(stage, "s")
        events = await run(runtime, turn)
        assert processes_of(turn) == []

    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, events[-1].transient) == (Code.E_RUNTIME_HUNG, False)
    assert len(stage.runs()) == 2


async def test_a_process_that_ends_in_the_middle_is_replaced_once(stage: ReplayStage):
    async with closing(first_one_then_another(stage, {}, exit=9, cut="line")) as runtime:
        await run(runtime, turn_for(stage, "s"))
        # The recording's second turn is cut: its process ends there.
        key = json.loads(bytes(stage.logs.of_job["job_20261115_1"].stdout).splitlines()[-1])["session_id"]
        events = await run(runtime, turn_for(stage, "s", resume_key=key, job_id="job_2"))

    assert isinstance(events[-1], TurnEnded)
    assert any("exit code 9" in note.text for note in only(Diagnostic, events))


async def test_a_hang_after_a_permission_was_granted_is_not_tried_again(stage: ReplayStage):
    async with closing(stage.runtime_of(PERMISSION, {"hang_timeout_sec": 0.5}, hang=7)) as runtime:
        turn = turn_for(stage, "s")
        events = await run(runtime, turn)
        assert processes_of(turn) == []

    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_RUNTIME_HUNG
    assert len(stage.runs()) == 1


async def test_an_idle_process_ends_when_its_time_is_up(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS, {"idle_timeout_sec": 0.1})) as runtime:
        turn = turn_for(stage, "s")
        await run(runtime, turn)
        async with asyncio.timeout(20):
            while processes_of(turn):
                await asyncio.sleep(0.02)
        assert runtime.describe("s").state == "Closed"


async def test_the_longest_unused_idle_process_makes_room(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS, {"max_processes": 2})) as runtime:
        turns = [turn_for(stage, f"s{n}", job_id=f"job_{n}") for n in range(3)]
        firsts = [await run(runtime, turn) for turn in turns]
        assert [bool(processes_of(turn)) for turn in turns] == [False, True, True]
        assert all(isinstance(events[-1], TurnEnded) for events in firsts)


async def test_a_busy_process_is_never_evicted(stage: ReplayStage):
    async with closing(stage.runtime_of(PERMISSION, {"max_processes": 1})) as runtime:
        busy = turn_for(stage, "busy")
        async with aclosing(runtime.invoke(busy)) as stream:
            async for event in stream:
                if isinstance(event, PermissionRequested):
                    break
            # There is no room in the pool, so the other session gets a process for its turn alone.
            other = await run(runtime, turn_for(stage, "other", job_id="job_2"))
            assert processes_of(busy)
    assert isinstance(other[-1], TurnEnded)


async def test_one_that_heeds_no_interruption_over_its_pipe_is_not_asked_the_same_by_signal(stage: ReplayStage):
    asked_again = stage.root / "asked-again"
    deaf = stage.root / "claude"
    deaf.write_text(f"#!/bin/sh\ntrap ': > {asked_again}' INT\ntrap '' TERM\necho up\nwhile :; do sleep 1000; done\n")
    deaf.chmod(0o755)
    async with closing(stage.runtime_with(str(deaf))) as runtime:
        turn = turn_for(stage, "s")
        async with aclosing(runtime.invoke(turn)) as stream:
            async for event in stream:
                if isinstance(event, Diagnostic):
                    break
            await runtime.instruct("s", Interrupt())
        assert processes_of(turn) == []
    assert not asked_again.exists()


async def test_a_turn_that_is_stopped_before_its_prompt_leaves_no_new_process(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        turn = turn_for(stage, "s")
        assert (await stop_before_the_prompt(runtime, turn))[-1] == TurnEnded("", INTERRUPTED)
        assert processes_of(turn) == []

        first = await run(runtime, turn)
        later = turn_for(stage, "s", resume_key=key_in(first), job_id="job_2")
        assert (await stop_before_the_prompt(runtime, later))[-1] == TurnEnded("", INTERRUPTED)
        assert runtime.describe("s").state == "Active", "a process that has answered stays"


async def stop_before_the_prompt(runtime: Runtime, turn: Any) -> list[EngineEvent]:
    heard: list[EngineEvent] = []
    async with aclosing(runtime.invoke(turn)) as stream:
        async for event in stream:
            heard.append(event)
            if isinstance(event, HandingOver):
                await runtime.instruct("s", Interrupt())
    return heard


async def test_another_tier_or_another_generation_gets_another_process(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        first = await run(runtime, turn_for(stage, "s"))
        (stage.root / "workspace" / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
        await run(runtime, turn_for(stage, "s", resume_key=key_in(first), job_id="job_2"))
        await run(runtime, turn_for(stage, "s", resume_key=None, generation=2, job_id="job_3"))

    flags = [[flag for flag in ("-r", "--session-id") if flag in seen["argv"]] for seen in stage.runs()]
    assert flags == [["--session-id"], ["-r"], ["--session-id"]]


async def test_a_talk_that_never_began_is_not_resumed(stage: ReplayStage):
    """The id was given out and the process died before it knew it: to resume it would be refused for ever."""
    dead = stage.root / "dead"
    dead.write_text("#!/bin/sh\nexit 7\n")
    dead.chmod(0o755)
    async with closing(stage.runtime_with(str(dead))) as runtime:
        failed = await run(runtime, turn_for(stage, "s"))
        assert isinstance(failed[-1], TurnFailed)
        write_shim(stage.root, "dead", TWO_TURNS, notes=stage.notes)
        (stage.root / "dead").write_text((stage.root / "dead").read_text().replace(" dead ", " claude "))
        await run(runtime, turn_for(stage, "s", resume_key=key_in(failed), job_id="job_2"))

    assert stage.runs()[0]["argv"][-2:] == ["--session-id", key_in(failed)]


async def test_a_session_whose_process_was_ended_on_request_is_resumed_in_the_next_turn(stage: ReplayStage):
    silent = stage.root / "silent"
    silent.write_text("#!/bin/sh\necho up\nwhile :; do sleep 1000; done\n")
    silent.chmod(0o755)
    events: list[EngineEvent] = []
    async with closing(stage.runtime_with(str(silent))) as runtime:
        async with aclosing(runtime.invoke(turn_for(stage, "s"))) as stream:
            async for event in stream:
                events.append(event)
                if isinstance(event, Diagnostic):
                    await runtime.end_session("s", "kill")
        write_shim(stage.root, "silent", TWO_TURNS, notes=stage.notes)
        silent.write_text(silent.read_text().replace(" silent ", " claude "))
        await run(runtime, turn_for(stage, "s", resume_key=key_in(events), job_id="job_2"))

    assert events[-1] == TurnEnded("", "interrupted")
    assert stage.runs()[0]["argv"][-2:] == ["-r", key_in(events)]


@pytest.mark.req("E6", "A18")
async def test_a_process_that_has_spent_its_budget_does_not_stay_for_the_next_turn(stage: ReplayStage):
    async with closing(stage.runtime_of("claude/06a-max-budget-tiny")) as runtime:
        events = await run(runtime, turn_for(stage, "s"))
        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].message) == (Code.E_BUDGET_SPENT, "Reached maximum budget ($0.001)")
        assert runtime.describe("s").state == "Closed"


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("E8", "C3")
async def test_a_picture_in_the_prompt_opens_no_directory_and_a_file_that_is_named_opens_its_own(stage: ReplayStage):
    inbox = stage.root / "inbox"
    inbox.mkdir()
    (inbox / "cat.png").write_bytes(b"\x89PNG")
    picture = InputFile(str(inbox / "cat.png"), "cat.png", "image/png")
    text = InputFile(str(inbox / "notes.txt"), "notes.txt", "text/plain")
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        await run(runtime, turn_for(stage, "s", files=(picture,)))
        await run(runtime, turn_for(stage, "t", files=(picture, text)))
    first, second = (stage_run["argv"] for stage_run in stage.runs())
    assert "--add-dir" not in first
    assert second[second.index("--add-dir") + 1] == str(inbox)
    assert second.count("--add-dir") == 1
