"""The echo agent, told in its prompt what to do. Time is virtual."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.engine import (
    AgentInitiated,
    AskedItem,
    Diagnostic,
    EngineEvent,
    ForkOrigin,
    ImageProduced,
    InputFile,
    Interrupt,
    Invocation,
    ModelsOffered,
    Option,
    PermissionRequested,
    PlanProposed,
    PointReached,
    QuestionRequested,
    Response,
    ResumeKeyFound,
    SetModel,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.ports import Runtime
from fairlead.runtimes.echo import MODELS, EchoRuntime, resume_key_of
from fairlead.runtimes.echo_actions import TINY_PICTURE
from fairlead.runtimes.echo_script import ORDERS, read_script
from fairlead.testing.clock import run_virtually

KEY = "agent:fairlead:user:local"


def invocation(prompt: str, *, job_id: str = "job_20260105_0001", project_path: str = "/srv/api", **more) -> Invocation:
    return Invocation(
        job_id=job_id,
        session_key=KEY,
        generation=0,
        project_name="api",
        project_path=project_path,
        workspace_path="/srv/api",
        prompt=prompt,
        mark="m",
        **more,
    )


def heard(prompt: str, *answers: Response, runtime: EchoRuntime | None = None, **more) -> list[EngineEvent]:
    """A whole turn; each question gets the next of `answers`."""
    echo = runtime or EchoRuntime()
    left = list(answers)

    async def turn() -> list[EngineEvent]:
        events = []
        async for event in echo.invoke(invocation(prompt, **more)):
            events.append(event)
            if isinstance(event, PermissionRequested | QuestionRequested | PlanProposed):
                asyncio.get_running_loop().call_later(
                    60, lambda: asyncio.ensure_future(echo.instruct(KEY, left.pop(0)))
                )
        return events

    return run_virtually(turn())


def heard_at(project: Path, prompt: str, *answers: Response) -> list[EngineEvent]:
    return heard(prompt, *answers, project_path=str(project))


def deeds(events: list[EngineEvent]) -> list[EngineEvent]:
    return [e for e in events if not isinstance(e, ResumeKeyFound | ModelsOffered | PointReached | TextDelta)]


def ask_id(number: int) -> str:
    return f"job_20260105_0001-ask-{number}"


def test_it_is_a_runtime():
    runtime: Runtime = EchoRuntime()
    assert runtime.name == "echo"
    assert run_virtually(runtime.check()).ok


@pytest.mark.req("C8")
def test_it_names_the_session_key_it_was_given_and_repeats_the_words():
    assert heard("hello\nthere") == [
        ResumeKeyFound(resume_key_of("job_20260105_0001")),
        ModelsOffered(MODELS[0], MODELS),
        TextDelta(f"echo {KEY}: hello\nthere\n"),
        PointReached("1"),
        TurnEnded(f"echo {KEY}: hello\nthere"),
    ]


def test_a_resumed_talk_counts_its_turns():
    echo = EchoRuntime()
    heard("one", runtime=echo)
    talk = resume_key_of("job_20260105_0001")
    second = heard("two", runtime=echo, job_id="job_20260105_0002", resume_key=talk)
    third = heard("three", runtime=echo, job_id="job_20260105_0003", resume_key=talk)
    assert [e.text for e in (second[-1], third[-1])] == [
        f"echo {KEY}: two\nturn 2 of talk {talk}",
        f"echo {KEY}: three\nturn 3 of talk {talk}",
    ]
    assert ResumeKeyFound(talk) in third


@pytest.mark.req("F7")
def test_a_fork_remembers_what_was_said_before_it_and_changes_nothing_there():
    echo = EchoRuntime()
    heard("one", runtime=echo)
    talk = resume_key_of("job_20260105_0001")
    second = heard("two", runtime=echo, job_id="job_20260105_0002", resume_key=talk)
    assert PointReached("2") in second
    whole = heard("/recall", runtime=echo, job_id="job_20260105_0003", fork=ForkOrigin(talk))
    until_one = heard("/recall", runtime=echo, job_id="job_20260105_0004", fork=ForkOrigin(talk, "1"))
    kept = heard("/recall", runtime=echo, job_id="job_20260105_0005", resume_key=talk)
    assert [e.text.splitlines()[2:] for e in (whole[-1], until_one[-1], kept[-1])] == [
        ["1. one", "2. two", "3. /recall"],
        ["1. one", "2. /recall"],
        ["1. one", "2. two", "3. /recall"],
    ]
    assert ResumeKeyFound(resume_key_of("job_20260105_0003")) in whole


def test_a_talk_from_before_a_restart_is_still_resumed():
    assert heard("again", resume_key="a-talk")[-1].text == f"echo {KEY}: again\nturn 2 of talk a-talk"


def test_files_that_came_along_are_named():
    assert heard("see", files=(InputFile("/b/1", "log.txt"),))[-1].text == f"echo {KEY}: see\nwith log.txt"


def test_several_orders_are_followed_in_their_order():
    prompt = "hi\n/tool Bash ls -la\n/think hm\n/image\n/usage 1200 300 0.01\nand this"
    assert deeds(heard(prompt)) == [
        ToolStarted("tool-1", "Bash", {"command": "ls -la"}),
        ToolEnded("tool-1", summary="pretended Bash ls -la"),
        ThinkingDelta("hm"),
        ImageProduced("image/png", TINY_PICTURE),
        UsageReported(input_tokens=1200, output_tokens=300, cost_usd=0.01),
        TurnEnded(f"echo {KEY}: hi\nand this"),
    ]


def test_the_picture_is_a_real_png():
    assert TINY_PICTURE[:8] == b"\x89PNG\r\n\x1a\n"
    assert TINY_PICTURE[12:16] == b"IHDR"
    assert TINY_PICTURE[-8:-4] == b"IEND"


def test_a_line_that_only_looks_like_an_order_is_repeated():
    assert heard("/usr/bin/env is a path")[-1] == TurnEnded(f"echo {KEY}: /usr/bin/env is a path")


def test_help_explains_every_order():
    answer = heard("/help")[-1].text
    assert all(f"/{order}" in answer for order in ORDERS)


def test_being_slow_takes_that_long():
    async def turn() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert [e async for e in EchoRuntime().invoke(invocation("/slow 3\n/slow 2.5"))][-1].text == f"echo {KEY}:"
        return loop.time() - began

    assert run_virtually(turn()) == pytest.approx(5.5)


def test_a_permission_that_is_given_lets_the_tool_run():
    assert deeds(heard("/ask rm -rf build", Response(request_id=ask_id(1), verdict="allow"))) == [
        PermissionRequested(
            request_id=ask_id(1),
            tool="Bash",
            title="Run rm -rf build",
            detail="rm -rf build",
            input={"command": "rm -rf build"},
            command="rm -rf build",
        ),
        ToolStarted("tool-1", "Bash", {"command": "rm -rf build"}),
        ToolEnded("tool-1", summary="pretended Bash rm -rf build"),
        TurnEnded(f"echo {KEY}:\nallowed: rm -rf build"),
    ]


def test_a_permission_that_is_refused_lets_nothing_run():
    assert deeds(heard("/ask rm -rf build", Response(request_id=ask_id(1), verdict="deny", message="not today")))[
        1:
    ] == [TurnEnded(f"echo {KEY}:\ndenied: rm -rf build (not today)")]


def test_what_the_session_allows_is_not_asked():
    events = deeds(heard("/ask make", allowed=("Bash(make)",)))
    assert events[-1] == TurnEnded(f"echo {KEY}:\nallowed: make")
    assert not any(isinstance(e, PermissionRequested) for e in events)


def test_a_question_and_a_plan_wait_for_their_own_answers():
    prompt = "/question Which colour? | red | blue\n/plan paint it"
    answers = (
        Response(request_id=ask_id(1), verdict="allow", chosen={"Which colour?": "blue"}),
        Response(request_id=ask_id(2), verdict="deny", message="too dear"),
    )
    assert deeds(heard(prompt, *answers)) == [
        QuestionRequested(ask_id(1), (AskedItem("Which colour?", (Option("red"), Option("blue"))),)),
        PlanProposed(ask_id(2), "paint it"),
        TurnEnded(f"echo {KEY}:\nthe answer to Which colour? is blue\nthe plan was rejected: too dear"),
    ]


def test_it_fails_with_the_code_it_was_told():
    assert heard("/fail E_CLI_EXIT_NONZERO exit 3")[-1] == TurnFailed(Code.E_CLI_EXIT_NONZERO, "exit 3", f"echo {KEY}:")
    assert heard("/fail because")[-1] == TurnFailed(Code.E_AGENT_ERROR, "because", f"echo {KEY}:")


def test_it_fails_transiently_the_first_time_and_works_the_second():
    echo = EchoRuntime()
    first = heard("/transient", runtime=echo)[-1]
    assert isinstance(first, TurnFailed)
    assert first.transient
    assert heard("/transient", runtime=echo)[-1] == TurnEnded(f"echo {KEY}:\nthe second attempt worked")


def test_long_answers_come_in_deltas_that_make_up_the_whole():
    events = heard("/long 5000")
    text = "".join(e.text for e in events if isinstance(e, TextDelta))
    assert text == events[-1].text + "\n"
    assert len(text) == 5000 + len(f"echo {KEY}:\n\n")
    assert len(events) > 10


def test_a_big_line_stays_one_line():
    assert heard("/big-line 300000")[-1].text.splitlines()[1] == "x" * 300_000


def test_it_speaks_unasked_when_the_turn_is_over():
    async def story() -> list[AgentInitiated]:
        echo = EchoRuntime()
        events = [e async for e in echo.invoke(invocation("/unasked the build is green"))]
        assert Diagnostic("will speak unasked when this turn is over") in events
        await echo.aclose()
        return [said async for said in echo.watch_agent_turns()]

    assert run_virtually(story()) == [
        AgentInitiated(KEY, 0, "job_20260105_0001-1", TextDelta("the build is green")),
        AgentInitiated(KEY, 0, "job_20260105_0001-1", TurnEnded("the build is green")),
    ]


@pytest.mark.parametrize(
    ("prompt", "disturb", "end"),
    [
        ("/hang", lambda e: e.instruct(KEY, Interrupt()), TurnEnded(f"echo {KEY}:", "interrupted")),
        ("/slow 900", lambda e: e.instruct(KEY, Interrupt()), TurnEnded(f"echo {KEY}:", "interrupted")),
        ("/ask ls", lambda e: e.instruct(KEY, Interrupt()), TurnEnded(f"echo {KEY}:", "interrupted")),
        (
            "/hang deaf",
            lambda e: e.end_session(KEY, "kill"),
            TurnFailed(Code.E_CLI_EXIT_NONZERO, "The echo agent was killed.", f"echo {KEY}:"),
        ),
        (
            "/hang deaf",
            lambda e: e.aclose(),
            TurnFailed(Code.E_SHUTDOWN, "Fairlead is shutting down.", f"echo {KEY}:"),
        ),
    ],
)
def test_whatever_it_waits_for_it_can_be_ended(prompt, disturb, end):
    async def story() -> EngineEvent:
        echo = EchoRuntime()
        asyncio.get_running_loop().call_later(5, lambda: asyncio.ensure_future(disturb(echo)))
        last = [e async for e in echo.invoke(invocation(prompt))][-1]
        assert echo.describe(KEY).state == "Closed"
        return last

    assert run_virtually(story()) == end


def test_a_deaf_agent_does_not_hear_an_interruption():
    async def story() -> None:
        echo = EchoRuntime()
        turn = asyncio.ensure_future(collect(echo))
        await asyncio.sleep(1)
        await echo.instruct(KEY, Interrupt())
        await asyncio.sleep(1000)
        assert not turn.done()
        turn.cancel()
        await asyncio.wait({turn})
        assert echo.describe(KEY).state == "Closed"

    async def collect(echo: EchoRuntime) -> list[EngineEvent]:
        return [e async for e in echo.invoke(invocation("/hang deaf"))]

    run_virtually(story())


def test_closing_the_stream_early_ends_the_turn():
    async def story() -> None:
        echo = EchoRuntime()
        events = echo.invoke(invocation("/slow 100"))
        await anext(events)
        assert echo.describe(KEY).state == "Prompting"
        await events.aclose()
        assert echo.describe(KEY).state == "Closed"

    run_virtually(story())


def test_a_chosen_model_is_used():
    echo = EchoRuntime()
    run_virtually(echo.instruct(KEY, SetModel("echo-2")))
    assert ModelsOffered("echo-2", MODELS) in heard("hi", runtime=echo)
    assert echo.describe(KEY).model == "echo-2"


@given(st.text(max_size=200))
def test_no_word_of_any_prompt_is_lost(prompt):
    steps = read_script(prompt)
    assert all(step.order == "say" or step.order in ORDERS for step in steps)
    words = [line for line in prompt.splitlines() if line.strip() and line.strip().split(" ")[0][1:] not in ORDERS]
    assert all(any(line in step.rest for step in steps) for line in words)


@pytest.mark.req("F2")
def test_it_writes_and_removes_a_file_of_the_project_when_it_is_allowed_to(tmp_path: Path):
    (tmp_path / "old.txt").write_text("old")
    allow = [Response(request_id=ask_id(number), verdict="allow") for number in (1, 2, 3)]
    heard_at(tmp_path, "/write new.txt some words\n/write old.txt\n/write ../out.txt x", *allow)
    heard_at(tmp_path, "/write never.txt words", Response(request_id=ask_id(1), verdict="deny"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"new.txt": "some words\n", "out.txt": "x\n"}
    assert not (tmp_path.parent / "out.txt").exists()
