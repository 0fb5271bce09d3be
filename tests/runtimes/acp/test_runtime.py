"""An ACP agent through its whole life, as the daemon sees it: prepared, prompted, idle, stopped, killed, back again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import (
    INTERRUPTED,
    CommandsOffered,
    Diagnostic,
    ImageProduced,
    InputFile,
    ModelsOffered,
    ModesOffered,
    Noticed,
    PermissionRequested,
    Response,
    ResumeKeyFound,
    SetMode,
    SetModel,
    TextDelta,
    ThinkingDelta,
    TitleFound,
    TodosChanged,
    ToolEnded,
    ToolProgressed,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code, FairleadError
from fairlead.ports import AgentPreparation, RuntimeHealth
from fairlead.runtimes.acp import prompt_blocks, session
from fairlead.runtimes.acp.runtime import AcpRuntime
from fairlead.runtimes.claude.command_line import ClaudeSettings
from fairlead.runtimes.claude.runtime import ClaudeRuntime
from fairlead.runtimes.pool import ProcessPool
from tests.runtimes.acp.harness import AcpStage, Talk, allow, choose, deny, until
from tests.support.replaying_cli import write_shim as write_claude
from tests.support.runtime_contract import closing, invocation, only, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4", "B5")]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture
def stage(tmp_path: Path) -> AcpStage:
    return AcpStage(tmp_path)


def ticket_for(stage: AcpStage, name: str = "ticket") -> AgentPreparation:
    (stage.root / "project").mkdir(exist_ok=True)
    return AgentPreparation(
        ticket=name, project_path=str(stage.root / "project"), mark=Talk(stage, stage.runtime(), name).mark
    )


# --- a prompt --------------------------------------------------------------------------------------------------------


async def test_the_turns_of_a_session_share_one_process(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert await talk.answer("my name is Bob") == "You said: my name is Bob"
        assert await talk.answer("what is my name?") == "Your name is Bob."
        assert talk.state == "Active"
    assert talk.state == "Closed"
    assert len(stage.noted("start")) == 1
    assert [note["reason"] for note in stage.noted("end")] == ["end of stdin"]


async def test_what_an_agent_prints_is_shown_as_it_comes(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say("say: one two three")
    pieces = [event.text for event in only(TextDelta, events)]
    assert len(pieces) == 3
    assert "".join(pieces) == "one two three"


async def test_a_slash_command_is_passed_on_as_the_first_word(stage: AcpStage):
    talk = Talk(stage, stage.runtime())
    talk.turn("")
    (stage.root / "workspace" / "SOUL.md").write_text("Be kind.")
    async with closing(talk.runtime):
        assert await talk.answer("/compact now") == "Ran the command /compact now"
        assert "Be kind." in await Talk(stage, talk.runtime, "other").answer("hello")
    first, _ = stage.noted("request", "session/prompt")
    assert first["params"]["prompt"] == [{"type": "text", "text": "/compact now"}]


async def test_every_kind_of_update_is_shown_or_kept(stage: AcpStage):
    """One prompt, all that the protocol has, and some that it has not."""
    orders = {
        "think: hm": ThinkingDelta,
        "say: hello": TextDelta,
        "image: 1": ImageProduced,
        "title: A talk": TitleFound,
        "plan: a | b | *c": TodosChanged,
        "plan-update: a | b": TodosChanged,
        "plan-text: # Plan": TodosChanged,
        "plan-removed": TodosChanged,
        "commands: a b": CommandsOffered,
        "mode: plan": ModesOffered,
        "model: scripted-2": ModelsOffered,
        "tool-grows: execute ls": ToolProgressed,
        "diff: a.py one => two": ToolProgressed,
        "terminal: ls": ToolEnded,
        "unknown": Diagnostic,
        "context: 50 200 0.25": UsageReported,
    }
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        for order, kind in orders.items():
            assert only(kind, await talk.say(order)), order
        info = runtime.describe("s")
    assert (info.mode, info.model, info.context_used, info.context_size) == ("plan", "scripted-2", 50, 200)
    assert [command.name for command in info.commands] == ["a", "b"]
    assert [option.name for option in info.options]


async def test_the_agents_commands_are_known_before_and_after_the_process_is_gone(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        await until(lambda: runtime.describe("s").commands)
        names = [command.name for command in runtime.describe("s").commands]
        await talk.answer("hello")
        await runtime.end_session("s", "stop")
        assert [command.name for command in runtime.describe("s").commands] == names == ["compact", "review"]


@pytest.mark.parametrize(
    ("capabilities", "shown"),
    [("image", ["image image/png 72 ", "resource_link file://"]), ("load", ["resource_link file://"] * 2)],
)
async def test_a_picture_goes_into_the_prompt_where_the_agent_sees_pictures_and_else_as_a_link(
    tmp_path: Path, capabilities: str, shown: list[str]
):
    stage = AcpStage(tmp_path, capabilities=capabilities)
    picture, words = tmp_path / "picture.png", tmp_path / "words.txt"
    picture.write_bytes(PNG)
    words.write_text("words")
    files = (
        InputFile(path=str(picture), name="picture.png", media_type="image/png"),
        InputFile(path=str(words), name="words.txt", media_type="text/plain"),
    )
    async with closing(stage.runtime()) as runtime:
        answer = await Talk(stage, runtime).answer("which files?", files=files)
    listed = answer.splitlines()[1:]
    assert len(listed) == 2
    assert all(line.startswith(start) for line, start in zip(listed, shown, strict=True)), listed
    assert listed[1].endswith("/words.txt")


@pytest.mark.req("E8")
@pytest.mark.parametrize(
    ("capabilities", "data", "is_embedded"),
    [
        ("embedded", "wörter\n".encode(), True),
        ("embedded", b"x" * prompt_blocks.MOST_TEXT, True),
        ("embedded", b"x" * (prompt_blocks.MOST_TEXT + 1), False),
        ("embedded", b"\x89\xff", False),
        ("embedded", b"\0", False),
        ("embedded", b"", False),
        ("image", b"words", False),
    ],
)
async def test_a_text_goes_into_the_prompt_where_the_agent_takes_texts_and_else_as_a_link(
    tmp_path: Path, capabilities: str, data: bytes, is_embedded: bool
):
    stage = AcpStage(tmp_path, capabilities=capabilities)
    path = tmp_path / "words.txt"
    path.write_bytes(data)
    words = InputFile(path=str(path), name="words.txt")
    async with closing(stage.runtime()) as runtime:
        await Talk(stage, runtime).answer("hello", files=(words,))
    [_, block] = stage.noted("request", "session/prompt")[0]["params"]["prompt"]
    embedded = {"uri": path.as_uri(), "mimeType": "text/plain", "text": data.decode(errors="replace")}
    link = {"type": "resource_link", "uri": path.as_uri(), "name": "words.txt"}
    assert block == ({"type": "resource", "resource": embedded} if is_embedded else link)


async def test_all_texts_of_a_message_share_the_room_in_its_prompt_and_a_link_to_elsewhere_is_not_followed(
    stage: AcpStage,
):
    secret, planted = stage.root / "secret.txt", stage.root / "planted.txt"
    secret.write_text("not for the agent")
    planted.symlink_to(secret)
    long, short = stage.root / "long.txt", stage.root / "short.txt"
    long.write_text("x" * (prompt_blocks.MOST_TEXT - 1))
    short.write_text("yy")
    files = tuple(InputFile(path=str(path), name=path.name) for path in (planted, long, short))
    async with closing(stage.runtime()) as runtime:
        await Talk(stage, runtime).answer("hello", files=files)
    blocks = stage.noted("request", "session/prompt")[0]["params"]["prompt"]
    assert [block["type"] for block in blocks] == ["text", "resource_link", "resource", "resource_link"]


async def test_a_picture_that_is_gone_is_told_and_left_out(stage: AcpStage):
    gone = (InputFile(path=str(stage.root / "gone.png"), name="gone.png", media_type="image/png"),)
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say("which files?", files=gone)
    assert only(Noticed, events) == [Noticed("gone.png could not be read: No such file or directory.")]
    assert events[-1] == TurnEnded("files:")


async def test_an_empty_message_is_refused_before_anything_starts(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert (await talk.failure("  ")).code is Code.E_EMPTY_MESSAGE
        assert talk.state == "Closed"
    assert not stage.noted("start")


@pytest.mark.req("E1")
async def test_an_agent_gets_no_variable_that_is_not_its_own(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        await Talk(stage, runtime).answer("hello")
    [start] = stage.noted("start")
    assert start["cwd"] == str(stage.root / "project")
    assert "DISCORD_TOKEN" not in start["environment"]


async def test_the_arguments_of_the_project_stand_behind_the_command(stage: AcpStage):
    async with closing(stage.runtime_with(str(stage.command), "--acp")) as runtime:
        await Talk(stage, runtime, args=("--fast",)).answer("hello")
    assert [note["argv"] for note in stage.noted("start")] == [["--acp", "--fast"]]


# --- before the first prompt -----------------------------------------------------------------------------------------


@pytest.mark.req("B7")
async def test_a_prepared_agent_serves_the_first_prompt_and_remembers_it(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        await runtime.prepare(ticket_for(stage))
        assert runtime.describe("ticket").state == "Active"
        assert not stage.noted("request", "session/prompt")
        runtime.adopt("ticket", "s", 1)
        assert (runtime.describe("ticket").state, runtime.describe("s").state) == ("Closed", "Active")
        talk = Talk(stage, runtime)
        events = await talk.say("my name is Bob")
        assert only(ResumeKeyFound, events) == [ResumeKeyFound(talk.key or "")]
        assert only(ModelsOffered, events)
        assert await talk.answer("what is my name?") == "Your name is Bob."
    assert len(stage.noted("start")) == 1
    assert len(stage.noted("request", "session/new")) == 1


@pytest.mark.req("B7")
@pytest.mark.parametrize(
    ("switches", "code", "words"),
    [
        ({"on": {"start": "exits"}, "stderr": "no licence"}, Code.E_ACP_CONNECTION, "no licence"),
        ({"protocol": 2}, Code.E_ACP_CONNECTION, "speaks version 2"),
        ({"new": "error -32603 no such project"}, Code.E_ACP_CONNECTION, "no such project"),
        ({"auth": "required"}, Code.E_CLI_NOT_LOGGED_IN, "login`"),
    ],
)
async def test_an_agent_that_cannot_be_prepared_leaves_nothing_running(
    tmp_path: Path, switches: dict[str, Any], code: Code, words: str
):
    stage = AcpStage(tmp_path, **switches)
    async with closing(stage.runtime()) as runtime:
        with pytest.raises(FairleadError, match=words) as refusal:
            await runtime.prepare(ticket_for(stage))
        assert refusal.value.code is code
        assert Talk(stage, runtime, "ticket").processes() == []
        assert runtime.describe("ticket").state == "Closed"


@pytest.mark.req("B7")
async def test_a_prepared_agent_that_nobody_wants_is_stopped(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        await runtime.prepare(ticket_for(stage))
        await runtime.end_session("ticket", "stop")
        assert Talk(stage, runtime, "ticket").processes() == []


async def test_where_all_are_busy_an_agent_is_tried_and_starts_again_with_the_first_prompt(stage: AcpStage):
    fifo = stage.fifo("busy")
    async with closing(stage.runtime(max_processes=1)) as runtime:
        busy = Talk(stage, runtime, "busy")
        working = busy.begin(f"hold: {fifo}\nsay: done")
        await stage.until_noted("request", "session/prompt")
        await runtime.prepare(ticket_for(stage))
        assert Talk(stage, runtime, "ticket").processes() == []
        runtime.adopt("ticket", "s", 1)
        assert await Talk(stage, runtime).answer("hello") == "You said: hello"
        await fifo.open()
        assert (await working)[-1] == TurnEnded("done")


@pytest.mark.req("B7")
async def test_a_prepared_agent_is_closed_when_nobody_prompts_it(stage: AcpStage):
    async with closing(stage.runtime(idle_timeout_sec=0.05)) as runtime:
        await runtime.prepare(ticket_for(stage))
        runtime.adopt("ticket", "s", 1)
        await Talk(stage, runtime, "ticket").until_gone()
        assert await Talk(stage, runtime).answer("hello") == "You said: hello"


# --- states, stop and kill -------------------------------------------------------------------------------------------


@pytest.mark.req("B7")
async def test_the_states_of_an_agent(stage: AcpStage):
    starting, prompting = stage.fifo("starting"), stage.fifo("prompting")
    stage.write(initialize=f"hold {starting}")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        states = [talk.state]
        working = talk.begin(f"hold: {prompting}\nsay: done")
        await stage.until_noted("request", "initialize")
        states.append(talk.state)
        await starting.open()
        await stage.until_noted("request", "session/prompt")
        states.append(talk.state)
        await prompting.open()
        await working
        states.append(talk.state)
        await runtime.end_session("s", "stop")
        states.append(talk.state)
    assert states == ["Closed", "Created", "Prompting", "Active", "Closed"]


@pytest.mark.parametrize("method", ["initialize", "session/new", "session/set_config_option"])
async def test_an_interruption_before_the_prompt_keeps_the_prompt_from_the_agent(stage: AcpStage, method: str):
    slowly = stage.fifo("slowly")
    stage.write(on={method: f"hold {slowly}"})
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        working = talk.begin("hello", model="scripted-2")
        await stage.until_noted("request", method)
        await talk.interrupt()
        await slowly.open()
        assert (await working)[-1] == TurnEnded("", INTERRUPTED)
        assert not stage.noted("request", "session/prompt")
        stage.write()
        assert await talk.answer("hello") == "You said: hello"


async def test_what_is_said_to_a_closed_agent_is_ignored(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.interrupt()
        await runtime.instruct("s", Response(request_id="0", verdict="allow"))
        await runtime.instruct("s", SetModel("scripted-2"))
        await runtime.end_session("s", "stop")
        await runtime.end_session("s", "kill")
        assert talk.state == "Closed"


async def test_stop_closes_stdin_and_waits_for_the_agent_to_finish(tmp_path: Path):
    stage = AcpStage(tmp_path, lost_when_killed=True)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        await runtime.end_session("s", "stop")
        assert talk.processes() == []
        assert [note["reason"] for note in stage.noted("end")] == ["end of stdin"]
        assert await talk.answer("what is my name?") == "Your name is Bob."


async def test_stop_in_the_middle_of_a_turn_ends_it_and_keeps_what_was_said(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        working = talk.begin("say: so far\nhang")
        await talk.until_said("so far")
        await runtime.end_session("s", "stop")
        assert (await working)[-1] == TurnEnded("so far", INTERRUPTED)
        assert await talk.answer("hello") == "You said: hello"


async def test_kill_ends_the_whole_tree_at_once(tmp_path: Path):
    stage = AcpStage(tmp_path, ignore="INT,TERM,HUP,EOF")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        working = talk.begin("grandchild\nhang")
        await until(lambda: len(talk.processes()) >= 2)
        await runtime.end_session("s", "kill")
        assert talk.processes() == []
        last = (await working)[-1]
        assert isinstance(last, TurnEnded)
        assert last.stop_reason == INTERRUPTED
        assert not stage.noted("end"), "it was not asked to finish"
        stage.write()
        assert await talk.answer("hello") == "You said: hello"


async def test_the_daemons_end_ends_every_agent(stage: AcpStage):
    runtime = stage.runtime(max_processes=1)
    talks = [Talk(stage, runtime, name) for name in ("pooled", "alone")]
    working = [talk.begin("hang") for talk in talks]
    await stage.until_noted("request", "session/prompt", times=2)
    await runtime.aclose()
    assert [talk.processes() for talk in talks] == [[], []]
    assert [(await task)[-1] for task in working] == [TurnEnded("", INTERRUPTED)] * 2


# --- idle, and at most so many ---------------------------------------------------------------------------------------


@pytest.mark.req("B7")
async def test_an_idle_agent_is_closed_and_comes_back_with_the_next_message(stage: AcpStage):
    async with closing(stage.runtime(idle_timeout_sec=0.05)) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        await talk.until_gone()
        await until(lambda: talk.state == "Closed")
        assert await talk.answer("what is my name?") == "Your name is Bob."
    assert len(stage.noted("start")) == 2


@pytest.mark.req("B7")
async def test_the_agent_that_was_unused_for_the_longest_time_makes_room(stage: AcpStage):
    async with closing(stage.runtime(max_processes=2)) as runtime:
        a, b, c = (Talk(stage, runtime, name) for name in "abc")
        await a.answer("my name is Ann")
        await b.answer("hello")
        await a.answer("hello")
        await c.answer("hello")
        assert [talk.state for talk in (a, b, c)] == ["Active", "Closed", "Active"]
        await b.answer("hello")
        assert [talk.state for talk in (a, b, c)] == ["Closed", "Active", "Active"]
        assert await a.answer("what is my name?") == "Your name is Ann."


async def test_one_limit_holds_for_two_agents_of_different_names(stage: AcpStage):
    pool = ProcessPool(most=1, idle_sec=60)
    async with closing(stage.runtime(pool=pool)) as one, closing(stage.runtime(pool=pool)) as other:
        first, second = Talk(stage, one, "s"), Talk(stage, other, "t")
        await first.answer("hello")
        await second.answer("hello")
        assert (first.state, second.state) == ("Closed", "Active")
        assert first.processes() == []


async def test_one_limit_holds_for_claude_and_an_acp_agent(stage: AcpStage):
    pool = ProcessPool(most=1, idle_sec=60)
    claude = write_claude(stage.root / "claude", "claude", "claude/04a-two-turns-one-process")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(stage.root / "home")}
    settings = ClaudeSettings(command=str(claude))
    async with (
        closing(ClaudeRuntime(settings, environment, stage.logs, pool=pool)) as one,
        closing(stage.runtime(pool=pool)) as other,
    ):
        talk = Talk(stage, other)
        await talk.answer("hello")
        await run(one, invocation(stage.root, "first", session_key="c", mark=f"{talk.mark}-claude"))
        assert (talk.state, one.describe("c").state) == ("Closed", "Active")
        await talk.answer("hello")
        assert (talk.state, one.describe("c").state) == ("Active", "Closed")


async def test_another_directory_or_another_command_line_is_another_process(stage: AcpStage):
    other = stage.root / "other"
    other.mkdir()
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        assert await talk.answer("which directory?", project_path=str(other)) == f"directory={stage.root / 'project'}"
        await talk.answer("hello", args=("--fast",))
    assert [note["cwd"] for note in stage.noted("start")] == [
        str(stage.root / "project"),
        str(other),
        str(stage.root / "project"),
    ]


# --- models and modes ------------------------------------------------------------------------------------------------

STYLES = {
    "config options": {"settings": "config"},
    "set_model and set_mode": {"settings": "models,modes"},
    "both": {"settings": "models,modes,config"},
}


@pytest.mark.parametrize("style", STYLES)
async def test_the_model_of_the_session_is_chosen_before_its_turn(tmp_path: Path, style: str):
    stage = AcpStage(tmp_path, **STYLES[style])
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert await talk.answer("which model?", model="scripted-2") == "model=scripted-2"
        assert runtime.describe("s").model == "scripted-2"
        assert runtime.describe("s").models == ("scripted-1", "scripted-2", "scripted-3[low]")
        assert await talk.answer("which model?", model="scripted-3[low]") == "model=scripted-3[low]"
        await runtime.instruct("s", SetModel("scripted-1"))
        assert await talk.answer("which model?") == "model=scripted-1"
    asked = {note["method"] for note in stage.noted("request")}
    assert ("session/set_model" in asked) == (style == "set_model and set_mode")
    assert ("session/set_config_option" in asked) == (style != "set_model and set_mode")


@pytest.mark.parametrize("style", STYLES)
async def test_a_mode_that_a_person_chose_holds_for_the_session_and_its_next_agent(tmp_path: Path, style: str):
    stage = AcpStage(tmp_path, **STYLES[style])
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("which mode?")
        assert events[-1] == TurnEnded("mode=default")
        assert only(ModesOffered, events)[0] == ModesOffered("default", ("default", "acceptEdits", "plan"))
        await runtime.instruct("s", SetMode("plan", str(stage.root / "workspace")))
        assert (runtime.describe("s").mode, await talk.answer("which mode?")) == ("plan", "mode=plan")
        await runtime.end_session("s", "stop")
        assert runtime.describe("s").mode == "plan"
        assert await talk.answer("which mode?") == "mode=plan"


async def test_a_model_that_the_agent_does_not_have_fails_the_turn_and_leaves_the_session_usable(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("hello", model="no-such-model")
        assert failure.code is Code.E_MODEL_UNAVAILABLE
        assert "no-such-model" in failure.message
        assert await talk.answer("my name is Bob") == "You said: my name is Bob"
        assert (await talk.failure("hello", model="no-such-model")).code is Code.E_MODEL_UNAVAILABLE
        assert await talk.answer("what is my name?") == "Your name is Bob."
    assert len(stage.noted("start")) == 1


async def test_a_model_for_an_agent_that_offers_none_is_told_and_the_turn_goes_on(tmp_path: Path):
    stage = AcpStage(tmp_path, settings="")
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say("hello", model="gpt-99")
        assert Noticed("The agent offers no choice of models, so it does not use 'gpt-99'.") in events
        assert events[-1] == TurnEnded("You said: hello")


async def test_a_mode_that_the_agent_does_not_have_is_refused(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        with pytest.raises(FairleadError, match="'warp' is not among default, acceptEdits, plan") as refusal:
            await runtime.instruct("s", SetMode("warp", str(stage.root / "workspace")))
        assert refusal.value.code is Code.E_MODE_UNAVAILABLE
        assert await talk.answer("which mode?") == "mode=default"


@pytest.mark.parametrize("settings", ["", "modes"])
async def test_a_mode_that_the_agent_refuses_fails_no_later_turn(tmp_path: Path, settings: str):
    """Of an agent that tells no modes, or refuses one that it has told, nobody knows before."""
    stage = AcpStage(tmp_path, settings=settings, on={"session/set_mode": "error -32603 not as root"})
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        with pytest.raises(FairleadError) as refusal:
            await runtime.instruct("s", SetMode("plan", str(tmp_path / "workspace")))
        assert refusal.value.code is Code.E_MODE_UNAVAILABLE
        assert await talk.answer("hello") == "You said: hello"


async def test_a_mode_for_an_agent_that_turns_out_to_have_none_is_told_and_the_turn_goes_on(tmp_path: Path):
    stage = AcpStage(tmp_path, settings="")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await runtime.instruct("s", SetMode("plan", str(tmp_path / "workspace")))
        events = await talk.say("hello")
        assert Noticed("The agent has no mode 'plan'; it is in its own.") in events
        assert events[-1] == TurnEnded("You said: hello")


@pytest.mark.parametrize("options", ["claude", "two-once"])
async def test_a_session_leaves_the_plan_mode_when_its_plan_is_approved(tmp_path: Path, options: str):
    stage = AcpStage(tmp_path, like="claude")
    asking = f"ask: [{options}] switch_mode The plan"
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        await runtime.instruct("s", SetMode("plan", str(tmp_path / "workspace")))

        await talk.say(asking, deny)
        assert await talk.answer("which mode?") == "mode=plan"
        approve = allow if options == "claude" else choose("Yes, this once")
        await talk.say(f"{asking}\nmode: default", approve)
        assert await talk.answer("which mode?") == "mode=default"


async def test_the_agents_own_change_of_mode_or_model_is_seen(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say("mode: plan\nmodel: scripted-2")
        assert (runtime.describe("s").mode, runtime.describe("s").model) == ("plan", "scripted-2")
    assert ModesOffered("plan", ("default", "acceptEdits", "plan")) in events


async def test_an_agent_that_dies_of_a_setting_is_told_and_comes_back(tmp_path: Path):
    stage = AcpStage(tmp_path, on={"session/set_config_option": "exits"})
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        with pytest.raises(FairleadError) as refusal:
            await runtime.instruct("s", SetModel("scripted-2"))
        assert refusal.value.code is Code.E_ACP_CONNECTION
        assert await talk.answer("what is my name?") == "Your name is Bob."
        assert (await talk.failure("hello", model="scripted-2")).code is Code.E_CLI_EXIT_NONZERO


async def test_an_agent_that_never_takes_a_setting_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stage = AcpStage(tmp_path, on={"session/set_config_option": "hangs"})
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        monkeypatch.setattr(session, "OPEN_SEC", 0.05)
        with pytest.raises(FairleadError) as refusal:
            await runtime.instruct("s", SetModel("scripted-2"))
        monkeypatch.undo()
        assert refusal.value.code is Code.E_ACP_TIMEOUT
        assert talk.processes() == []
        assert await talk.answer("what is my name?") == "Your name is Bob."


# --- the self-check --------------------------------------------------------------------------------------------------


async def test_the_check_asks_the_agent_who_it_is_and_no_model(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        assert await runtime.check() == RuntimeHealth(ok=True, program=str(stage.command), version="1.2.3")
    assert [note["method"] for note in stage.noted("request")] == ["initialize"]
    assert stage.noted("end")


async def test_the_check_of_an_agent_that_is_not_there_says_so(stage: AcpStage):
    async with closing(stage.runtime_with("no-such-agent")) as runtime:
        health = await runtime.check()
    assert (health.ok, health.program) == (False, "no-such-agent")
    assert "no-such-agent was not found; searched: /usr/bin:/bin" in health.notes[0]


async def test_what_the_runtime_notices_about_the_workspace_is_told_once_in_a_new_session(stage: AcpStage):
    talk = Talk(stage, stage.runtime())
    async with closing(talk.runtime):
        talk.turn("")
        (stage.root / "workspace" / "PERMISSIONS.json").write_text("{")
        events = await talk.say("hello")
    assert only(Noticed, events)
    assert isinstance(events[-1], TurnFailed), "nobody knows whether this agent can be held to readonly"
    assert events[-1].code is Code.E_PERMISSION_TIER


def test_a_runtime_has_the_name_of_its_agent(stage: AcpStage):
    runtime = stage.runtime()
    assert isinstance(runtime, AcpRuntime)
    assert (runtime.name, runtime.capabilities.prepares) == ("agent", True)


async def test_a_permission_is_asked_in_its_own_session(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        a, b = Talk(stage, runtime, "a"), Talk(stage, runtime, "b")
        asked = await asyncio.gather(a.say("ask: execute rm a"), b.say("ask: execute rm b"))
    details = [[ask.detail for ask in only(PermissionRequested, events)] for events in asked]
    assert details == [["rm a"], ["rm b"]]
