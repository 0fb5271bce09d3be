"""Codex and Gemini as runtimes, with the real CLIs: tiers that hold, prompts that stay prompts, usage, pictures."""

from pathlib import Path

import pytest

from fairlead.core.engine import EngineEvent, InputFile, ToolStarted, TurnEnded, TurnFailed, UsageReported
from fairlead.errors import Code
from fairlead.runtimes.gemini_defaults import keep_sessions
from tests.support.runtime_contract import closing, invocation, key_in, only, processes_of, run

from .model_server import ModelServer, Refuse
from .pictures import png
from .real_stage import Cast, RealStage

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


@pytest.fixture(params=["codex", "gemini"])
def stage(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> RealStage:
    return RealStage(request.param, tmp_path, server)


@pytest.fixture
def codex(tmp_path: Path, server: ModelServer) -> RealStage:
    return RealStage("codex", tmp_path, server)


@pytest.fixture
def gemini(tmp_path: Path, server: ModelServer) -> RealStage:
    return RealStage("gemini", tmp_path, server)


def end_of(events: list[EngineEvent]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded), events[-1]
    return events[-1]


def permit(stage: RealStage, content: str) -> None:
    (stage.root / "workspace").mkdir(exist_ok=True)
    (stage.root / "workspace" / "PERMISSIONS.json").write_text(content)


@pytest.mark.req("E3")
async def test_a_readonly_tier_writes_nothing(stage: RealStage):
    permit(stage, '{"tier": "readonly"}')
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, "run: touch made; true"))
    end_of(events)
    assert not (stage.root / "project" / "made").exists()


@pytest.mark.req("E3")
async def test_a_full_tier_writes(stage: RealStage):
    permit(stage, '{"tier": "full"}')
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, "run: touch made; true"))
    end_of(events)
    assert (stage.root / "project" / "made").exists()
    assert only(ToolStarted, events)[0].name == "Bash"


@pytest.mark.req("E3")
async def test_the_standard_tier_of_gemini_edits_but_creates_and_runs_nothing(gemini: RealStage, server: ModelServer):
    permit(gemini, '{"tier": "standard"}')
    async with closing(gemini.runtime()) as runtime:
        end_of(await run(runtime, invocation(gemini.root, "hello")))
    conversation = server.turns[0].conversation
    assert conversation is not None
    offered = set(conversation.tools)
    assert "replace" in offered
    assert offered & {"write_file", "run_shell_command", "invoke_agent"} == set()


@pytest.mark.req("E3")
@pytest.mark.parametrize("tools", ['["Bash", "Read"]', '["Bash", "Read", "Write", "Edit", "Glob", "Grep"]'])
async def test_a_tier_with_the_shell_may_write_its_output_to_a_file(gemini: RealStage, tools: str):
    permit(gemini, f'{{"tier": "custom", "tools": {tools}}}')
    async with closing(gemini.runtime()) as runtime:
        end_of(await run(runtime, invocation(gemini.root, "run: echo words > made && cat made >> made2; true")))
    assert (gemini.root / "project" / "made").read_text() == "words\n"
    assert (gemini.root / "project" / "made2").exists()


@pytest.mark.req("A10")
@pytest.mark.parametrize("prompt", ["-x", "--help", "resume", "review", "/help me", "@/etc/hostname is what?"])
async def test_a_prompt_reaches_the_model_as_it_is(stage: RealStage, server: ModelServer, prompt: str):
    async with closing(stage.runtime()) as runtime:
        end_of(await run(runtime, invocation(stage.root, prompt)))
    assert server.turns[0].prompt.replace("\u2060", "") == prompt


@pytest.mark.req("A10")
async def test_a_long_prompt_arrives_whole(stage: RealStage, server: ModelServer):
    prompt = "x" * 300_000 + "\nsay: all of it"
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, prompt))
    assert end_of(events).text == "all of it"
    assert len(server.turns[0].prompt) == len(prompt)


@pytest.mark.req("E6", "A9")
async def test_usage_is_this_turns_also_after_a_restart(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        first = await run(runtime, invocation(stage.root, "my name is Gus"))
    async with closing(stage.runtime()) as later:
        second = await run(later, invocation(stage.root, "what is my name?", resume_key=key_in(first)))

    assert end_of(second).text == "Your name is Gus."
    [once], [again] = only(UsageReported, first), only(UsageReported, second)
    assert once.input_tokens > 0
    assert again.input_tokens < once.input_tokens * 1.9


@pytest.mark.req("A9")
async def test_an_id_that_codex_takes_for_a_name_never_begins_a_new_talk(codex: RealStage, server: ModelServer):
    async with closing(codex.runtime()) as runtime:
        events = await run(runtime, invocation(codex.root, "hello", resume_key="no-uuid-at-all"))
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_RESUME_GONE


@pytest.mark.req("E8")
async def test_a_picture_reaches_the_model(stage: RealStage):
    inbox = stage.root / "inbox"
    inbox.mkdir()
    (inbox / "a picture.png").write_bytes(png())
    files = (InputFile(str(inbox / "a picture.png"), "a picture.png", "image/png"),)
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, "image?", files=files))
    assert "1" in end_of(events).text, end_of(events).text


@pytest.mark.req("A11")
async def test_gemini_in_json_mode(tmp_path: Path, server: ModelServer):
    cast: Cast = "gemini in json mode"
    stage = RealStage(cast, tmp_path, server)
    async with closing(stage.runtime()) as runtime:
        first = await run(runtime, invocation(tmp_path, "my name is Hal"))
        second = await run(runtime, invocation(tmp_path, "what is my name?", resume_key=key_in(first)))
        acting = await run(runtime, invocation(tmp_path, "status: 429"))
        permit(stage, '{"tier": "readonly"}')
        reading = await run(runtime, invocation(tmp_path, "status: 429"))

    assert end_of(second).text == "Your name is Hal."
    # In this mode tools are not seen: only where none can do anything is a second attempt safe.
    failures = [(end.code, end.transient) for end in (acting[-1], reading[-1]) if isinstance(end, TurnFailed)]
    assert failures == [(Code.E_AGENT_ERROR, False), (Code.E_AGENT_ERROR, True)]


@pytest.mark.req("B14")
async def test_the_agents_commands_see_no_token_of_ours(stage: RealStage):
    turn = invocation(stage.root, "run: env > seen.txt")
    async with closing(stage.runtime()) as runtime:
        end_of(await run(runtime, turn))
    assert "not for agents" not in (stage.root / "project" / "seen.txt").read_text()
    assert processes_of(turn) == []


@pytest.mark.req("A18")
async def test_a_refused_login_is_said_as_such(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, "status: 401"))
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_CLI_NOT_LOGGED_IN


@pytest.mark.req("A18")
async def test_a_key_that_codex_misses_is_a_login_and_the_setting_that_passes_it_on_is_named(codex: RealStage):
    async with closing(codex.runtime(extra_environment=())) as runtime:
        events = await run(runtime, invocation(codex.root, "hello"))
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_CLI_NOT_LOGGED_IN
    assert "LOOPBACK_API_KEY to FAIRLEAD_RUNTIME_ENVIRONMENT" in events[-1].message


@pytest.mark.req("A11")
@pytest.mark.parametrize("trouble", ["status: 500 times=9", "status: 529 times=9", "drop"])
async def test_what_passes_by_itself_is_worth_a_second_attempt(stage: RealStage, trouble: str):
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, trouble))
    assert isinstance(events[-1], TurnFailed), events[-1]
    assert (events[-1].code, events[-1].transient) == (Code.E_AGENT_ERROR, True), events[-1].message


CONTEXT_FULL = {
    "codex": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "gemini": "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
}


@pytest.mark.req("A18")
async def test_a_conversation_that_no_longer_fits_is_told_as_such(stage: RealStage, server: ModelServer):
    server.script(*[Refuse(400, message=CONTEXT_FULL[stage.program])] * 9)
    async with closing(stage.runtime()) as runtime:
        events = await run(runtime, invocation(stage.root, "hello"))
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code is Code.E_CONTEXT_FULL


@pytest.mark.req("A21")
async def test_the_self_check_of_the_real_ones(stage: RealStage):
    async with closing(stage.runtime()) as runtime:
        health = await runtime.check()
    assert health.ok
    assert health.version in {"0.166.0", "0.61.0"}


@pytest.mark.skipif(not keep_sessions(), reason="gemini takes defaults from root's files only")
@pytest.mark.req("C9", "C3")
async def test_a_session_that_another_gemini_has_just_begun_is_not_deleted(gemini: RealStage):
    """Gemini writes the head of a session's file before its first message; a second one starts in between."""
    async with closing(gemini.runtime()) as runtime:
        await run(runtime, invocation(gemini.root, "my name is Alice"))
        [chats] = {path.parent for path in gemini.root.rglob("session-*.jsonl")}
        [alices] = chats.iterdir()
        begun = chats / "session-2026-01-01T00-00-0badcafe.jsonl"
        head = alices.read_text().splitlines()[0].replace(alices.stem.rsplit("-", 1)[1], "0badcafe")
        begun.write_text(f"{head}\n")
        await run(runtime, invocation(gemini.root, "my name is Bob"))

    assert begun.exists()
