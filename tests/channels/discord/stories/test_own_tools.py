"""An agent that sends and asks by itself on Discord: once, in its own thread, and across a kill of the daemon."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.answers import answer_to
from tests.channels.discord.harness import Stage, a_stage
from tests.channels.discord.stories.test_acp_questions import labels, start_thread
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("D4")]

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000049454e44ae426082")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("daemon")


@pytest.fixture(scope="module")
def agent(home: Path) -> ScriptedAgent:
    return ScriptedAgent(home, "goose", bare=False)


@pytest.fixture(scope="module")
async def shared_stage(home: Path, agent: ScriptedAgent) -> AsyncIterator[Stage]:
    configure(home / "state", agent)
    async with a_stage(home) as ready:
        yield ready


@pytest.fixture
async def thread(stage: Stage) -> Conversation:
    return await start_thread(stage)


async def order(stage: Stage, thread: Conversation, tool: str, **arguments: object) -> tuple[Message, str]:
    """What was said, and what the agent answered after its call."""
    said = stage.owner.say(thread, f"own: {tool} {json.dumps(arguments)}")
    return said, (await answer_to(thread, said)).content


async def test_a_message_and_a_picture_come_before_the_answer(stage: Stage, thread: Conversation) -> None:
    said, answer = await order(stage, thread, "send_message", text="half done, @everyone")
    assert "Own tool: Sent." in answer
    message = await thread.wait_for_answer(lambda m: m.content.startswith("half done"), after=said, timeout=60)
    assert message.reference is None
    (stage.daemon.project / "plot.png").write_bytes(PNG)
    said, _ = await order(stage, thread, "send_file", path="plot.png", caption="the plot")
    picture = await thread.wait_for_answer(lambda m: m.content == "the plot", after=said, timeout=60)
    assert [file.filename for file in picture.attachments] == ["plot.png"]


@pytest.mark.req("B11")
async def test_a_file_outside_of_the_project_is_not_sent(stage: Stage, thread: Conversation, home: Path) -> None:
    (home / "secret.txt").write_text("outside")
    (stage.daemon.project / "link.txt").symlink_to(home / "secret.txt")
    for path in ("link.txt", "../secret.txt", str(home / "secret.txt")):
        _, answer = await order(stage, thread, "send_file", path=path)
        assert "E_INVALID_PATH" in answer
    assert not any(m.attachments for m in thread.from_bot)


async def test_a_question_is_answered_with_a_button_after_the_daemon_was_killed(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    said, answer = await order(stage, thread, "ask_user", question="Which colour?", choices=["red", "blue"])
    assert "END YOUR TURN" in answer
    question = await thread.wait_for_answer(lambda m: m.components, after=said, timeout=60)
    assert labels(question)[:2] == ["red", "blue"]
    assert "⏳" not in question.content
    await stage.daemon.kill()
    await stage.daemon.up()
    await stage.owner.click(question, "blue").reply(timeout=60)
    await thread.wait_for_answer(lambda m: "Answer: blue" in m.content, after=question, timeout=60)
    assert agent.prompts()[-1].endswith("Question: Which colour?\nAnswer: blue")
    assert question.components == []


async def test_free_words_answer_a_question_without_choices(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    said, _ = await order(stage, thread, "ask_user", question="What name?")
    question = await thread.wait_for_answer(lambda m: m.components, after=said, timeout=60)
    pressed = stage.owner.click(question, labels(question)[-1])
    await pressed.modal()
    await stage.owner.submit_modal(pressed, field0="Fairlead").reply()
    await thread.wait_for_answer(lambda m: "Answer: Fairlead" in m.content, after=question, timeout=60)
    assert agent.prompts()[-1].endswith("Answer: Fairlead")


async def test_the_agent_names_its_thread(stage: Stage, thread: Conversation) -> None:
    await order(stage, thread, "set_title", title="Fix the build")
    await stage.discord.wait_for(lambda: "Fix the build" in thread.channel.name, timeout=60, what="the new name")
