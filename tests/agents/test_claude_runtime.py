"""The Claude runtime with the real claude: asking, interrupting, doing things unasked, and losing its process."""

import asyncio
import os
import signal
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import (
    AgentInitiated,
    Diagnostic,
    EngineEvent,
    InputFile,
    Interrupt,
    Invocation,
    ModelsOffered,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    Response,
    SetMode,
    SetModel,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.kit.process_table import system_table
from fairlead.ports import Runtime
from tests.support.runtime_contract import closing, invocation, key_in, only, processes_of, run

from .model_server import Hang, ModelServer, Refuse, Reply, Say
from .pictures import png
from .real_stage import RealStage

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


@pytest.fixture
def stage(tmp_path: Path, server: ModelServer) -> RealStage:
    return RealStage("claude in a pool", tmp_path, server)


def turn_of(stage: RealStage, prompt: str, **changes: Any) -> Invocation:
    return invocation(stage.root, prompt, **changes)


async def agent_session(
    runtime: Runtime, turn: Invocation, *answers: tuple[type[Any], dict[str, Any]]
) -> list[EngineEvent]:
    """A turn in which the person's answers are given in order; whoever asks more than that waits in vain."""
    events: list[EngineEvent] = []
    waiting = list(answers)
    async with asyncio.timeout(60), aclosing(runtime.invoke(turn)) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, PermissionRequested | QuestionRequested | PlanProposed):
                kind, answer = waiting.pop(0)
                assert isinstance(event, kind)
                await runtime.instruct(turn.session_key, Response(request_id=event.request_id, **answer))
    assert waiting == []
    return events


def end_of(events: list[EngineEvent]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded), events[-1]
    return events[-1]


def pids_of(turn: Invocation) -> set[int]:
    return {process.pid for process in system_table().scan() if process.mark == turn.mark}


# --- asking ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("C9", "E7")
async def test_a_tool_that_is_allowed_from_outside_runs(stage: RealStage):
    turn = turn_of(stage, "run: touch allowed")
    async with closing(stage.runtime()) as runtime:
        events = await agent_session(runtime, turn, (PermissionRequested, {"verdict": "allow"}))

    [asked] = only(PermissionRequested, events)
    assert (asked.tool, asked.detail) == ("Bash", "touch allowed")
    assert (stage.root / "project" / "allowed").exists()
    end_of(events)


@pytest.mark.req("C9", "E7")
async def test_a_tool_that_is_denied_does_not_run_and_the_agent_hears_why(stage: RealStage):
    denial = {"verdict": "deny", "message": "not on a Sunday"}
    async with closing(stage.runtime()) as runtime:
        events = await agent_session(runtime, turn_of(stage, "run: touch denied"), (PermissionRequested, denial))

    assert "not on a Sunday" in end_of(events).text
    assert not (stage.root / "project" / "denied").exists()


async def test_for_this_session_covers_this_very_command_and_no_other(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        grant = {"verdict": "allow", "remember": True}
        first = await agent_session(runtime, turn_of(stage, "run: touch a"), (PermissionRequested, grant))
        key = key_in(first)
        # The flow brings all the rules that were granted with every turn.
        granted = ("Bash(touch a)",)
        await agent_session(runtime, turn_of(stage, "run: touch a", resume_key=key, job_id="job_2", allowed=granted))
        other = turn_of(stage, "run: touch b", resume_key=key, job_id="job_3", allowed=granted)
        await agent_session(runtime, other, (PermissionRequested, {"verdict": "deny"}))
    async with closing(stage.runtime()) as later:
        rules = ("Bash(touch c)",)
        events = await agent_session(later, turn_of(stage, "run: touch c", resume_key=key, allowed=rules))

    end_of(events)
    assert sorted(path.name for path in (stage.root / "project").iterdir()) == ["a", "c"]


async def test_writing_a_file_shows_what_will_be_in_it(stage: RealStage):
    path = stage.root / "project" / "new.txt"
    async with closing(stage.runtime()) as runtime:
        prompt = f"write: {path} hello there"
        events = await agent_session(runtime, turn_of(stage, prompt), (PermissionRequested, {"verdict": "allow"}))

    [asked] = only(PermissionRequested, events)
    assert (asked.tool, asked.detail) == ("Write", str(path))
    assert "+hello there" in asked.diff
    assert path.read_text() == "hello there"


@pytest.mark.req("C9")
async def test_the_agents_question_is_answered(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        answer = {"verdict": "allow", "chosen": {"Which colour?": "blue"}}
        turn = turn_of(stage, "ask: Which colour? | red | blue")
        events = await agent_session(runtime, turn, (QuestionRequested, answer))

    [asked] = only(QuestionRequested, events)
    assert [option.label for option in asked.items[0].options] == ["red", "blue"]
    assert "blue" in end_of(events).text


async def test_a_plan_is_approved_in_chat(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        turn = turn_of(stage, 'tool: ExitPlanMode {"plan": "1. look 2. leap"}', args=("--permission-mode", "plan"))
        events = await agent_session(runtime, turn, (PlanProposed, {"verdict": "allow"}))

    assert only(PlanProposed, events)[0].plan == "1. look 2. leap"
    assert "approved" in end_of(events).text


@pytest.mark.req("E7")
async def test_the_hang_clock_stands_still_while_a_person_is_asked(stage: RealStage):
    turn = turn_of(stage, "run: touch slow")
    async with closing(stage.runtime(hang_timeout_sec=5.0)) as runtime:
        async with asyncio.timeout(60), aclosing(runtime.invoke(turn)) as stream:
            events: list[EngineEvent] = []
            async for event in stream:
                events.append(event)
                if isinstance(event, PermissionRequested):
                    # A person who takes longer than the limit: a real process knows no virtual time.
                    await asyncio.sleep(6.0)
                    await runtime.instruct(turn.session_key, Response(request_id=event.request_id, verdict="allow"))

    end_of(events)
    assert (stage.root / "project" / "slow").exists()


# --- one process, many turns ----------------------------------------------------------------------------------------


@pytest.mark.req("E7", "A9")
async def test_the_second_turn_is_served_by_the_same_process(stage: RealStage):
    turn = turn_of(stage, "my name is Carol")
    async with closing(stage.runtime()) as runtime:
        first = await run(runtime, turn)
        before = pids_of(turn)
        second = await run(runtime, turn_of(stage, "what is my name?", resume_key=key_in(first), job_id="job_2"))
        assert pids_of(turn) == before != set()
        assert runtime.describe(turn.session_key).state == "Active"
        assert "sonnet" in runtime.describe(turn.session_key).models
    assert end_of(second).text == "Your name is Carol."
    assert pids_of(turn) == set()


@pytest.mark.req("A9")
async def test_a_restart_of_the_daemon_goes_on_with_the_talk(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        first = await run(runtime, turn_of(stage, "my name is Dora"))
    async with closing(stage.runtime()) as later:
        second = await run(later, turn_of(stage, "what is my name?", resume_key=key_in(first)))
    assert end_of(second).text == "Your name is Dora."
    assert only(UsageReported, second)[0].cost_usd < 2 * only(UsageReported, first)[0].cost_usd


async def test_an_interruption_spares_the_process_and_the_talk(stage: RealStage, server: ModelServer):
    async with closing(stage.runtime()) as runtime:
        first = await run(runtime, turn_of(stage, "my name is Erin"))
        turn = turn_of(stage, "hang", resume_key=key_in(first), job_id="job_2")
        reading = asyncio.create_task(run(runtime, turn))
        await server.until_held()
        before = pids_of(turn)
        await runtime.instruct(turn.session_key, Interrupt())
        interrupted = await reading
        third = await run(runtime, turn_of(stage, "what is my name?", resume_key=key_in(first), job_id="job_3"))
        assert pids_of(turn) == before

    assert end_of(interrupted).stop_reason == "interrupted"
    assert end_of(third).text == "Your name is Erin."


async def test_the_model_is_switched_without_another_process(stage: RealStage, server: ModelServer):
    async with closing(stage.runtime(model="opus")) as runtime:
        turn = turn_of(stage, "hello")
        first = await run(runtime, turn)
        before = pids_of(turn)
        again = turn_of(stage, "again", resume_key=key_in(first), model="haiku", job_id="job_2")
        await run(runtime, again)
        assert pids_of(turn) == before
        await runtime.instruct(turn.session_key, SetModel("sonnet"))
        await run(runtime, turn_of(stage, "more", resume_key=key_in(first), model="sonnet", job_id="job_3"))

    models = [seen.body["model"] for seen in server.turns]
    assert [name for model in models for name in ("opus", "haiku", "sonnet") if name in model] == [
        "opus",
        "haiku",
        "sonnet",
    ]


async def test_the_permission_mode_is_switched_without_another_process(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        turn = turn_of(stage, "hello")
        first = await run(runtime, turn)
        before = pids_of(turn)
        await runtime.instruct(turn.session_key, SetMode("acceptEdits", turn.workspace_path))
        path = stage.root / "project" / "unasked.txt"
        write = turn_of(stage, f"write: {path} hello", resume_key=key_in(first), job_id="job_2")
        written = await agent_session(runtime, write)
        assert pids_of(turn) == before

    assert only(PermissionRequested, written) == []
    assert path.read_text() == "hello"


async def test_a_mode_chosen_before_there_is_a_process_is_the_one_it_starts_in(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        path = stage.root / "project" / "unasked.txt"
        write = turn_of(stage, f"write: {path} hello")
        await runtime.instruct(write.session_key, SetMode("acceptEdits", write.workspace_path))
        written = await agent_session(runtime, write)

    assert only(PermissionRequested, written) == []
    assert path.read_text() == "hello"


@pytest.mark.req("E7")
async def test_what_the_agent_does_unasked_is_a_turn_of_its_own(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        turn = turn_of(stage, "background: sleep 0.2; true")
        own: list[AgentInitiated] = []

        async def listen() -> None:
            async for unasked in runtime.watch_agent_turns():
                own.append(unasked)
                if isinstance(unasked.event, TurnEnded):
                    return

        listening = asyncio.create_task(listen())
        asked = await agent_session(runtime, turn)
        async with asyncio.timeout(30):
            await listening
        after = await run(runtime, turn_of(stage, "hello", resume_key=key_in(asked), job_id="job_2"))

    assert "background" in end_of(asked).text
    assert own[-1].event == TurnEnded("Noted: the background task has ended.", "end_turn")
    assert len({unasked.turn_id for unasked in own}) == 1
    assert end_of(after).text == "You said: hello"


@pytest.mark.req("E7")
async def test_an_idle_process_goes_after_its_time_and_one_with_work_stays(stage: RealStage):
    async with closing(stage.runtime(idle_timeout_sec=0.3)) as runtime:
        turn = turn_of(stage, "hello")
        await run(runtime, turn)
        await until(lambda: pids_of(turn) == set())
        assert runtime.describe(turn.session_key).state == "Closed"


@pytest.mark.req("E7")
async def test_the_least_used_idle_process_makes_room(stage: RealStage):
    async with closing(stage.runtime(max_processes=2)) as runtime:
        turns = [
            turn_of(stage, "hello", session_key=f"s{n}", mark=f"{stage.root.name}-{os.getpid()}:job_{n}")
            for n in range(3)
        ]
        for turn in turns:
            await run(runtime, turn)
        assert [bool(pids_of(turn)) for turn in turns] == [False, True, True]


async def until(holds: Any) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)


# --- losing the process ---------------------------------------------------------------------------------------------


@pytest.mark.req("E7")
async def test_a_hang_before_any_tool_is_tried_once_more_by_a_process_of_its_own(stage: RealStage, server: ModelServer):
    server.script(Reply((Say("I fall "), Hang())))
    async with closing(stage.runtime(hang_timeout_sec=6.0)) as runtime:
        events = await run(runtime, turn_of(stage, "hello"))

    assert any("once, in a new process" in note.text for note in only(Diagnostic, events))
    assert end_of(events).text == "You said: hello"


@pytest.mark.req("E7")
async def test_a_hang_of_the_second_attempt_is_final(stage: RealStage, server: ModelServer):
    server.script(Reply((Say("I fall "), Hang())))
    async with closing(stage.runtime(hang_timeout_sec=6.0)) as runtime:
        events = await run(runtime, turn_of(stage, "hello", is_second_attempt=True))

    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_RUNTIME_HUNG


@pytest.mark.req("E7")
async def test_a_process_killed_after_a_tool_is_not_tried_again(stage: RealStage):
    turn = turn_of(stage, "run: touch once; sleep 30")
    async with closing(stage.runtime()) as runtime:
        reading = asyncio.create_task(agent_session(runtime, turn, (PermissionRequested, {"verdict": "allow"})))
        await until((stage.root / "project" / "once").exists)
        for pid in pids_of(turn):
            os.kill(pid, signal.SIGKILL)
        events = await reading

    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_CLI_EXIT_NONZERO
    assert processes_of(turn) == []


@pytest.mark.req("E7")
async def test_a_process_killed_before_any_tool_is_replaced(stage: RealStage, server: ModelServer):
    server.script(Reply((Say("I fall "), Hang())))
    turn = turn_of(stage, "hello")
    async with closing(stage.runtime()) as runtime:
        reading = asyncio.create_task(run(runtime, turn))
        await server.until_held()
        for pid in pids_of(turn):
            os.kill(pid, signal.SIGKILL)
        events = await reading

    assert end_of(events).text == "You said: hello"


async def test_stopping_the_session_ends_turn_and_process(stage: RealStage, server: ModelServer):
    turn = turn_of(stage, "hang")
    async with closing(stage.runtime()) as runtime:
        reading = asyncio.create_task(run(runtime, turn))
        await server.until_held()
        await runtime.end_session(turn.session_key, "kill")
        events = await reading
        assert processes_of(turn) == []
    assert end_of(events).stop_reason == "interrupted"


# --- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.req("E8")
@pytest.mark.parametrize("is_multi_turn", [True, False])
async def test_a_picture_reaches_the_model(stage: RealStage, server: ModelServer, *, is_multi_turn: bool):
    picture = stage.root / "red.png"
    picture.write_bytes(png())
    files = (InputFile(str(picture), "red.png", "image/png"),)
    async with closing(stage.runtime(multi_turn=is_multi_turn)) as runtime:
        events = await run(runtime, turn_of(stage, "image?", files=files))
    assert "1" in end_of(events).text, end_of(events).text


@pytest.mark.req("A11")
async def test_an_overload_may_pass(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, turn_of(stage, "status: 529"))
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, events[-1].transient) == (Code.E_AGENT_ERROR, True)


@pytest.mark.req("E2")
async def test_text_mode(stage: RealStage):
    async with closing(stage.runtime(multi_turn=False, output_format="text")) as runtime:
        first = await run(runtime, turn_of(stage, "my name is Fay"))
        second = await run(runtime, turn_of(stage, "what is my name?", resume_key=key_in(first)))
    assert end_of(second).text == "Your name is Fay."


@pytest.mark.req("E3")
async def test_a_readonly_tier_takes_the_shell_away(stage: RealStage, server: ModelServer):
    turn = turn_of(stage, "run: touch nothing")
    (stage.root / "workspace" / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, turn)

    assert "offered no tool" in end_of(events).text
    assert {"Bash", "Write", "Edit"} & set(server.turns[0].conversation.tools) == set()  # type: ignore[union-attr]


@pytest.mark.req("B14")
async def test_the_agents_commands_see_no_token_of_ours(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        events = await agent_session(
            runtime, turn_of(stage, "run: env > seen.txt"), (PermissionRequested, {"verdict": "allow"})
        )
    end_of(events)
    assert "not for agents" not in (stage.root / "project" / "seen.txt").read_text()


async def test_the_words_are_streamed_and_the_models_are_named(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, turn_of(stage, "say: one two three"))
    assert "".join(event.text for event in only(TextDelta, events)) == end_of(events).text
    assert any(offered.models for offered in only(ModelsOffered, events))


@pytest.mark.req("E4", "E5")
async def test_with_its_session_log_read_too_a_tool_is_still_seen_once(stage: RealStage):
    async with closing(stage.runtime(session_scanning=True)) as runtime:
        events = await run(runtime, turn_of(stage, "run: echo hello"))
    assert [tool.name for tool in only(ToolStarted, events)] == ["Bash"]
    assert [tool.ok for tool in only(ToolEnded, events)] == [True]
    assert "hello" in end_of(events).text


@pytest.mark.req("A21")
async def test_the_self_check_of_the_real_one(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        health = await runtime.check()
    assert (health.ok, health.version, health.notes) == (True, "2.1.325", ())


# --- dead ends ------------------------------------------------------------------------------------------------------


@pytest.mark.req("E6", "A18")
async def test_a_process_that_has_spent_its_budget_gives_way_to_one_with_a_new_budget(
    stage: RealStage, server: ModelServer
):
    async with closing(stage.runtime(max_budget_usd=0.03)) as runtime:
        first = await run(runtime, turn_of(stage, "my name is Alice"))
        key = key_in(first)
        dear = await run(runtime, turn_of(stage, "usage: 9000 500", resume_key=key, job_id="job_2"))
        later = await run(runtime, turn_of(stage, "what is my name?", resume_key=key, job_id="job_3"))

    assert isinstance(dear[-1], TurnFailed)
    assert (dear[-1].code, dear[-1].text) == (Code.E_BUDGET_SPENT, "usage input=9000 output=500 cached=0")
    assert end_of(later).text == "Your name is Alice."


@pytest.mark.req("A18")
async def test_a_conversation_that_no_longer_fits_says_that_only_a_reset_helps(stage: RealStage, server: ModelServer):
    async with closing(stage.runtime()) as runtime:
        key = key_in(await run(runtime, turn_of(stage, "hello")))
        server.script(*[Refuse(400, message="prompt is too long: 200001 tokens > 200000 maximum")] * 40)
        full = await run(runtime, turn_of(stage, "go on", resume_key=key, job_id="job_2"))

    assert isinstance(full[-1], TurnFailed), full[-1]
    assert full[-1].code is Code.E_CONTEXT_FULL
