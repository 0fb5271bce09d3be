"""Six real agents that speak ACP, each through Fairlead's own runtime: what a person can do with every one of them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.core.engine import (
    Ask,
    EngineEvent,
    InputFile,
    Noticed,
    PermissionRequested,
    QuestionRequested,
    Response,
    SetMode,
    ToolEnded,
    TurnEnded,
    UsageReported,
)
from fairlead.errors import Code, FairleadError
from fairlead.kit.process_table import system_table
from fairlead.ports import AgentPreparation
from fairlead.runtimes.acp.runtime import AcpRuntime
from fairlead.runtimes.gemini_defaults import check_quietly
from tests.runtimes.acp.harness import Talk
from tests.support.runtime_contract import closing, only

from .acp_program import ACP_NAMES, OPENCODE_MODELS, AcpName
from .acp_stage import Answers, RealAcpStage, in_blue, until_there
from .model_server import ModelServer, Reply, Run, Say, Usage
from .pictures import png

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("B4", "E1")]

WITHOUT_QUESTIONS: tuple[AcpName, ...] = ("gemini", "opencode", "copilot")
ANOTHER_MODEL: dict[AcpName, tuple[str, str]] = {  # as people choose it, and as the model server is asked
    "claude-agent-acp": ("haiku", "claude-haiku"),
    "codex-acp": ("gpt-5.6-luna", "gpt-5.6-luna"),
    "gemini": ("gemini-2.5-pro", "gemini-2.5-pro"),
    "opencode": (OPENCODE_MODELS[1], "large"),
    "qwen": ("large(openai)", "large"),
    "copilot": ("gpt-4o", "gpt-4o"),  # it offers none on a provider of one's own, and takes any
}
ANOTHER_MODE: dict[AcpName, str] = {
    "claude-agent-acp": "acceptEdits",
    "codex-acp": "agent-full-access",
    "gemini": "autoEdit",
    "opencode": "plan",
    "qwen": "auto-edit",
    "copilot": "plan",
}
SLASH_COMMAND: dict[AcpName, tuple[str, str]] = {  # and a word of its answer
    "claude-agent-acp": ("context", "Context Usage"),
    "codex-acp": ("status", "workspace-write"),
    "gemini": ("memory show", "Memory is currently empty"),
    "opencode": ("hello", "hello from a command of the project"),
    "qwen": ("context", "Context Usage"),
    "copilot": ("context", "Context Usage"),
}


@pytest.fixture(params=ACP_NAMES)
def stage(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> RealAcpStage:
    return RealAcpStage(request.param, tmp_path, server)


@pytest.fixture
async def runtime(stage: RealAcpStage) -> AsyncIterator[AcpRuntime]:
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        yield runtime


@pytest.fixture
def talk(stage: RealAcpStage, runtime: AcpRuntime) -> Talk:
    return stage.talk(runtime)


def usage_in(events: list[EngineEvent]) -> UsageReported:
    [usage] = only(UsageReported, events)
    return usage


def pids_of(mark: str) -> set[int]:
    return {process.pid for process in system_table().scan() if process.mark == mark}


# --- tools and questions -------------------------------------------------------------------------------------------


@pytest.mark.req("B4")
async def test_an_allowed_command_runs_and_a_denied_one_does_not(stage: RealAcpStage, talk: Talk):
    yes, no = Answers("allow"), Answers("deny")
    made, never = stage.project / "made", stage.project / "never"
    allowed = await talk.say(stage.asks_about(f"touch {made} && echo made-it"), yes)
    denied = await talk.say(stage.asks_about(f"touch {never}"), no)
    goes_on = await talk.answer("say: still here")

    assert (made.exists(), never.exists(), goes_on) == (True, False, "still here")
    assert (yes.tools, no.tools) == (["Bash"], ["Bash"])
    assert [ask.detail for ask in no.asked if isinstance(ask, PermissionRequested)] == [f"touch {never}"]
    assert [ended.ok for ended in only(ToolEnded, allowed)] == [True]
    assert isinstance(denied[-1], TurnEnded), denied[-1]
    assert denied[-1].stop_reason in {"", "refused"}
    assert denied[-1].text


@pytest.mark.req("B4")
async def test_a_file_is_shown_as_a_diff_before_it_is_written(stage: RealAcpStage, talk: Talk):
    if stage.name == "codex-acp":  # in its own start mode it writes into the workspace without asking
        await talk.runtime.instruct(talk.name, SetMode("read-only", str(stage.root / "workspace")))
    file = stage.project / "note.txt"
    yes = Answers("allow")
    await talk.answer(f"write: {file} hello", yes)

    assert file.read_text().strip() == "hello"
    [asked] = yes.asked
    assert isinstance(asked, PermissionRequested)
    assert (asked.tool, asked.detail) == ("Edit", str(file))
    assert "+hello" in asked.diff.splitlines()


@pytest.mark.req("B4")
async def test_a_question_is_answered_and_the_agent_hears_the_answer(stage: RealAcpStage, talk: Talk):
    """Codex asks in its plan mode only. Gemini, opencode and copilot offer their model no tool for it over ACP."""
    if stage.name == "codex-acp":
        await talk.answer("/plan")
    events = await talk.say("ask: Which colour? | red | blue", in_blue)

    assert isinstance(events[-1], TurnEnded), events[-1]
    if stage.name in WITHOUT_QUESTIONS:
        assert only(QuestionRequested, events) == []
        assert "I am offered no tool for that" in events[-1].text
        return
    [asked] = only(QuestionRequested, events)
    assert {"red", "blue"} <= {option.label for option in asked.items[0].options}
    assert "blue" in events[-1].text


# --- usage, model, mode, commands, pictures ------------------------------------------------------------------------


@pytest.mark.req("E6", "B1")
async def test_every_turn_tells_its_own_tokens_and_the_context_where_the_agent_knows_it(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk
):
    first, second = await talk.say("usage: 1000 50"), await talk.say("usage: 2000 60")

    spent = [usage_in(events) for events in (first, second)]
    assert [(usage.input_tokens, usage.output_tokens) for usage in spent] == [(1000, 50), (2000, 60)]
    info = runtime.describe(talk.name)
    if stage.name == "gemini":  # it does not tell how full its context is
        assert (info.context_used, info.context_size) == (0, 0)
    else:
        assert 0 < info.context_used < info.context_size
    assert [usage.cost_usd > 0 for usage in spent] == [stage.name == "claude-agent-acp"] * 2  # alone in naming a price


@pytest.mark.req("E6")
async def test_the_tokens_of_a_turn_with_a_tool_are_those_of_both_requests_to_the_model(
    stage: RealAcpStage, talk: Talk, server: ModelServer
):
    """opencode tells those of the last request alone."""
    server.script(Reply((Run("echo hello"),), Usage(100, 10)), Reply((Say("done"),), Usage(200, 20)))
    events = await talk.say("please")

    assert isinstance(events[-1], TurnEnded), events[-1]
    assert events[-1].text.endswith("done")
    spent = usage_in(events)
    is_whole = stage.name != "opencode"
    assert (spent.input_tokens, spent.output_tokens) == ((300, 30) if is_whole else (200, 20))


@pytest.mark.req("B1")
async def test_another_model_is_chosen_down_to_the_models_request_and_an_unknown_one_is_refused(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk, server: ModelServer
):
    chosen, asked_for = ANOTHER_MODEL[stage.name]
    before = await talk.answer("say: before")
    offered = runtime.describe(talk.name).models
    after = await talk.answer("say: after", model=chosen)

    assert (before, after) == ("before", "after")
    assert chosen in offered or stage.name == "copilot"
    conversations = [seen.conversation for seen in server.turns if "say: after" in seen.prompt]
    assert [asked_for in conversation.model for conversation in conversations if conversation] == [True]
    assert runtime.describe(talk.name).model == chosen
    if stage.name not in {"gemini", "copilot"}:  # these two take any name
        failure = await talk.failure("say: never", model="no-such-model")
        assert failure.code is Code.E_MODEL_UNAVAILABLE
        assert await talk.answer("say: as before", model=chosen) == "as before"


@pytest.mark.req("B1")
async def test_another_mode_is_chosen_and_kept_after_a_restart_of_the_agent(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk
):
    mode, workspace = ANOTHER_MODE[stage.name], str(stage.root / "workspace")
    await talk.answer("say: hello")
    assert mode in runtime.describe(talk.name).modes
    await runtime.instruct(talk.name, SetMode(mode, workspace))
    assert runtime.describe(talk.name).mode == mode
    with pytest.raises(FairleadError) as refusal:
        await runtime.instruct(talk.name, SetMode("no-such-mode", workspace))
    assert refusal.value.code is Code.E_MODE_UNAVAILABLE
    await runtime.end_session(talk.name, "stop")
    stage.let_a_minute_pass()
    assert "again" in await talk.answer("say: again")  # copilot tells its model of the mode in the person's words
    assert runtime.describe(talk.name).mode == mode


@pytest.mark.req("B1")
async def test_the_agents_own_slash_commands_are_offered_and_sent(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk, server: ModelServer
):
    own = stage.project / ".opencode" / "command" / "hello.md"
    own.parent.mkdir(parents=True)
    own.write_text("say: hello from a command of the project\n")
    command, words = SLASH_COMMAND[stage.name]
    await talk.answer("say: hello")
    answer = await talk.answer(f"/{command}")

    assert command in [offered.name for offered in runtime.describe(talk.name).commands]
    assert words in answer
    assert not any(seen.prompt == f"/{command}" for seen in server.turns)


@pytest.mark.req("E8")
async def test_a_picture_reaches_the_model(stage: RealAcpStage, talk: Talk):
    picture = stage.root / "a cat.png"
    picture.write_bytes(png())
    answer = await talk.answer("image?", files=(InputFile(str(picture), "a cat.png", "image/png"),))

    digest = hashlib.sha256(png()).hexdigest()[:16]
    assert answer == f"images: 1; image/png {len(png())} bytes sha256:{digest}"


# --- life ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("B5", "A9")
async def test_a_stopped_agent_leaves_nothing_behind_and_comes_back_with_its_talk(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk
):
    await talk.answer("my name is Alice")
    key = talk.key
    await runtime.end_session(talk.name, "stop")
    assert (talk.processes(), runtime.describe(talk.name).state) == ([], "Closed")
    stage.let_a_minute_pass()

    events = await talk.say("what is my name?")
    assert isinstance(events[-1], TurnEnded), events[-1]
    assert (events[-1].text, talk.key) == ("Your name is Alice.", key)
    assert usage_in(events).input_tokens > 0


@pytest.mark.req("B5", "A9", "A18")
async def test_a_kill_in_the_middle_of_a_command_ends_the_whole_tree_and_the_next_prompt_goes_on_with_the_talk(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk
):
    """Gemini's too, if it is loaded in another minute: a session of the same minute would be begun again, and lost."""
    await talk.answer("my name is Alice")
    began = stage.project / "began"
    turn = talk.begin(f"run: touch {began} && sleep 1000")
    await until_there(began)
    await runtime.end_session(talk.name, "kill")
    assert (talk.processes(), runtime.describe(talk.name).state) == ([], "Closed")
    async with asyncio.timeout(60):
        [*_, last] = await turn
    assert isinstance(last, TurnEnded), last
    assert last.stop_reason == "interrupted"

    stage.let_a_minute_pass()
    [*_, last] = await talk.say("what is my name?")
    assert isinstance(last, TurnEnded), last
    assert last.text.endswith("Your name is Alice.")


@pytest.mark.req("A16")
async def test_a_turn_is_cancelled_in_the_middle_of_a_command_which_ends_and_the_talk_goes_on(
    stage: RealAcpStage, talk: Talk
):
    await talk.answer("my name is Alice")
    began = stage.project / "began"
    turn = talk.begin(f"run: touch {began} && sleep 1000")
    await until_there(began)
    await talk.interrupt()
    async with asyncio.timeout(60):
        [*_, last] = await turn
    assert isinstance(last, TurnEnded), last
    assert last.stop_reason == "interrupted"

    stage.let_a_minute_pass()
    assert (await talk.answer("what is my name?")).endswith("Your name is Alice.")
    assert [command for command in talk.processes() if "sleep 1000" in command] == []


@pytest.mark.req("A16", "B4")
async def test_a_cancelled_question_allows_nothing(stage: RealAcpStage, talk: Talk):
    never = stage.project / "never"
    asked = asyncio.Event()

    def hear(ask: Ask) -> Response:
        del ask
        asked.set()
        return Response(request_id="a request that was not sent", verdict="allow")

    turn = asyncio.create_task(talk.say(stage.asks_about(f"touch {never}"), hear))
    await asked.wait()
    await talk.interrupt()
    async with asyncio.timeout(60):
        [*_, last] = await turn
    assert isinstance(last, TurnEnded), last
    assert last.stop_reason == "interrupted"
    assert await talk.answer("say: still here") == "still here"
    assert not never.exists()


@pytest.mark.req("B5", "B7")
async def test_an_agent_is_started_without_a_prompt_and_serves_the_first_one(
    stage: RealAcpStage, runtime: AcpRuntime, talk: Talk, server: ModelServer
):
    mark = talk.turn("").mark
    await runtime.prepare(AgentPreparation(ticket="t", project_path=str(stage.project), mark=mark))
    runtime.adopt("t", talk.name, 1)
    before = runtime.describe(talk.name)
    agent = min(pids_of(mark))  # the children of an agent come and go
    assert (before.state, before.modes != (), server.turns) == ("Active", True, [])
    assert await talk.answer("say: hello") == "hello"
    assert agent in pids_of(mark)
    assert talk.key


@pytest.mark.req("B9")
async def test_agents_that_start_at_once_in_a_new_home_do_not_disturb_each_other(
    stage: RealAcpStage, runtime: AcpRuntime
):
    """As at the first start on a machine, where the self-check meets the first prompts."""
    one, two = stage.talk(runtime, "one"), stage.talk(runtime, "two")
    health, first, second = await asyncio.gather(runtime.check(), one.answer("say: one"), two.answer("say: two"))
    assert (health.ok, first, second) == (True, "one", "two"), health.notes


async def test_a_check_tells_the_version_and_asks_no_model(
    stage: RealAcpStage, runtime: AcpRuntime, server: ModelServer
):
    health = await runtime.check()
    assert (health.ok, server.turns) == (True, [])
    assert health.version


async def test_a_check_sends_no_statistics_from_a_home_without_settings(stage: RealAcpStage, server: ModelServer):
    """Nobody has asked for it. codex and opencode fetch lists of models and plugins at every start."""
    if stage.name in {"codex-acp", "opencode"}:
        pytest.skip("cannot be kept from fetching lists at its start")
    if stage.name == "gemini" and not check_quietly():
        pytest.skip("gemini takes defaults from root's files only, and this installation belongs to somebody else")
    stage.forget_settings()
    async with closing(stage.runtime()) as runtime:
        assert (await runtime.check()).ok
    assert server.strays == []


# --- limits and failures -------------------------------------------------------------------------------------------


@pytest.mark.req("E3", "B11")
async def test_a_readonly_tier_is_held_without_asking_anybody(stage: RealAcpStage, talk: Talk):
    """opencode has no mode of which it is known that nothing escapes its questions: no turn is run at all."""
    workspace = stage.root / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    never = stage.project / "never"
    yes = Answers("allow")
    if stage.name == "opencode":
        assert (await talk.failure("say: hello")).code is Code.E_PERMISSION_TIER
        return
    for prompt in (stage.asks_about(f"touch {never}"), f"run: touch {never}", f"write: {never} hello"):
        events = await talk.say(prompt, yes)
        assert isinstance(events[-1], TurnEnded), events[-1]
        assert not never.exists(), prompt
    assert yes.asked == []
    assert await talk.answer("say: still here") == "still here"


@pytest.mark.req("E3")
async def test_what_the_tier_forbids_is_told_to_the_person(stage: RealAcpStage, talk: Talk):
    if stage.name == "opencode":
        pytest.skip("opencode runs in no tier but full")
    workspace = stage.root / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    events = await talk.say(stage.asks_about(f"touch {stage.project / 'never'}"))
    assert [notice.text for notice in only(Noticed, events)] == [
        "Bash was refused: the tier readonly does not allow it here."
    ]


@pytest.mark.req("A18")
async def test_a_key_that_the_model_refuses_is_a_failure_and_no_answer(stage: RealAcpStage, talk: Talk):
    """opencode tells the words of the refusal and not its status, so it is an error like others."""
    last = await talk.failure("status: 401")
    assert last.code is (Code.E_AGENT_ERROR if stage.name == "opencode" else Code.E_CLI_NOT_LOGGED_IN), last
    assert await talk.answer("say: well again") == "well again"
