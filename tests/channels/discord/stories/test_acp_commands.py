"""The commands about an agent, typed on Discord, down to what an ACP agent receives."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Conversation, Person

from tests.channels.discord.answers import answer_to, words_of
from tests.channels.discord.harness import Stage, a_stage
from tests.support.configured_agents import ScriptedAgent, configure, is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.req("B1", "B4")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("daemon")


@pytest.fixture(scope="module")
def agent(home: Path) -> ScriptedAgent:
    return ScriptedAgent(home, "goose")


@pytest.fixture(scope="module")
async def shared_stage(home: Path, agent: ScriptedAgent) -> AsyncIterator[Stage]:
    configure(home / "state", agent)
    async with a_stage(home) as ready:
        yield ready


@pytest.fixture
async def thread(stage: Stage) -> Conversation:
    before = {each.id for each in stage.text_channel.threads()}
    await stage.owner.slash(stage.text_channel, "agent start", project_id=1, tool="goose").reply(timeout=60)
    return next(each for each in stage.text_channel.threads() if each.id not in before)


async def asked(person: Person, conversation: Conversation, command: str, **typed: Any) -> str:
    reply = await person.slash(conversation, command, **typed).reply(timeout=60)
    assert reply.ephemeral
    return "\n".join([reply.content, *(f"{e.get('title') or ''}\n{e.get('description') or ''}" for e in reply.embeds)])


async def offered(stage: Stage, conversation: Conversation, command: str, option: str, typed: str = "") -> list[str]:
    choices = await stage.owner.autocomplete(conversation, command, option, typed).choices()
    return [choice["value"] for choice in choices]


async def said_to(stage: Stage, thread: Conversation, text: str) -> str:
    return words_of(await answer_to(thread, stage.owner.say(thread, text)))


@pytest.mark.req("B3", "B9")
async def test_what_a_warm_agent_says_first_is_shown_while_it_still_works(
    stage: Stage, thread: Conversation, home: Path
) -> None:
    """How fast that is, the benchmarks measure; here nothing but the agent's first words can be shown."""
    fifo = home / "still-works"
    os.mkfifo(fifo)
    assert await said_to(stage, thread, "hello") == "You said: hello"
    said = stage.owner.say(thread, f"say: The first words.\nhold: {fifo}\nsay: The rest.")
    await stage.discord.wait_for(lambda: "👀" in said.reactions, what="the mark that it was taken")
    await thread.wait_for_answer(lambda m: "The first words." in m.content, after=said, timeout=30)
    assert all("The rest." not in m.content for m in thread.from_bot if m.id > said.id)
    with fifo.open("wb"):  # opening it returns when the agent waits there, and it goes on when it is closed
        pass
    await thread.wait_for_answer(lambda m: "The first words.\n\nThe rest." in m.content, after=said, timeout=30)


async def test_every_agent_is_offered_where_one_is_chosen(stage: Stage, thread: Conversation) -> None:
    assert await offered(stage, thread, "tool", "tool") == ["goose", "echo"]
    assert await offered(stage, stage.text_channel, "start", "tool", "goo") == ["goose"]
    assert await offered(stage, stage.text_channel, "agent start", "tool") == ["goose", "echo"]


async def test_status_tells_what_the_agent_said_about_itself(stage: Stage, thread: Conversation) -> None:
    text = await asked(stage.owner, thread, "agent status")
    for row in ("tool: goose", "model: scripted-1", "mode: default", "state: Active", "commands: /compact /review"):
        assert row in text


async def test_a_model_is_chosen_from_what_the_agent_offers_and_reaches_it(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    models = ["scripted-1", "scripted-2", "scripted-3[low]"]
    assert await offered(stage, thread, "agent model", "model_id") == models
    assert await asked(stage.owner, thread, "agent model", model_id="scripted-2") == "Switched the model to scripted-2"
    assert await said_to(stage, thread, "which model?") == "model=scripted-2"
    text = await asked(stage.owner, thread, "agent model", model_id="gpt-99")
    assert text.startswith("E_MODEL_UNAVAILABLE: The model gpt-99 is not available.")


async def test_a_mode_is_chosen_from_what_the_agent_offers_and_reaches_it(stage: Stage, thread: Conversation) -> None:
    assert await offered(stage, thread, "agent mode", "mode") == ["default", "acceptEdits", "plan"]
    assert "plan" in await asked(stage.owner, thread, "agent mode", mode="plan")
    assert await said_to(stage, thread, "which mode?") == "mode=plan"


async def test_usage_tells_tokens_cost_and_how_full_the_context_is(stage: Stage, thread: Conversation) -> None:
    await said_to(stage, thread, "usage: 1200 300\ncontext: 53000 200000 0.25\nsay: done")
    text = await asked(stage.owner, thread, "agent usage")
    for row in ("input_tokens: 1200", "output_tokens: 300", "cost: $0.25", "context: 53000 of 200000 (26%)"):
        assert row in text


async def test_a_slash_command_of_the_agents_own_is_offered_and_passed_on(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    assert await offered(stage, thread, "agent command", "name") == ["compact", "review"]
    before = thread.messages[-1] if thread.messages else None
    assert await asked(stage.owner, thread, "agent command", name="compact", text="now") == (
        "Sent /compact to the agent"
    )
    answer = await thread.wait_for_answer(lambda m: "Ran the command" in m.content, after=before)
    assert words_of(answer) == "Ran the command /compact now"
    assert agent.prompts()[-1] == "/compact now"
    text = await asked(stage.owner, thread, "agent command", name="dance")
    assert text.startswith("E_INVALID_ARGS: ")
    assert "/compact" in text


async def test_from_elsewhere_a_slash_command_goes_to_the_session_that_the_person_used_last(
    stage: Stage, thread: Conversation
) -> None:
    await said_to(stage, thread, "hello")
    await asked(stage.owner, stage.text_channel, "agent command", name="review")
    await thread.wait_for_answer(lambda m: words_of(m) == "Ran the command /review")


@pytest.mark.req("B5", "B7")
@pytest.mark.parametrize(("command", "told"), [("agent stop", "has ended"), ("agent kill", "was killed")])
async def test_an_ended_agent_is_gone_and_the_next_message_goes_on_with_the_talk(
    stage: Stage, thread: Conversation, agent: ScriptedAgent, command: str, told: str
) -> None:
    await said_to(stage, thread, "my name is Bob")
    pid = agent.processes_with("session/prompt")[-1]
    assert told in await asked(stage.owner, thread, command)
    assert not is_alive(pid)
    assert "state: Closed" in await asked(stage.owner, thread, "agent status")
    assert "Bob" in await said_to(stage, thread, "what is my name?")
    assert agent.processes_with("session/prompt")[-1] != pid


@pytest.mark.req("A13")
async def test_a_stranger_starts_and_sees_nothing(stage: Stage, thread: Conversation, agent: ScriptedAgent) -> None:
    eve = stage.discord.person("eve")
    sessions = len(agent.received("session/new"))
    assert (await asked(eve, stage.text_channel, "agent start", project_id=1)).startswith("E_OWNER_ONLY: ")
    for command, typed in {"agent command": {"name": "compact"}, "agent status": {}, "agent kill": {}}.items():
        assert (await asked(eve, thread, command, **typed)).startswith("E_OWNER_ONLY: ")
    assert await eve.autocomplete(thread, "agent command", "name", "").choices() == []
    assert len(agent.received("session/new")) == sessions
