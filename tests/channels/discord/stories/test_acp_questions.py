"""An ACP agent asks on Discord: the button that a person presses is the option that the agent is told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.answers import answer_to, words_of
from tests.channels.discord.harness import Stage, a_stage
from tests.support.configured_agents import ScriptedAgent, configure, is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


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
    return await start_thread(stage)


async def start_thread(stage: Stage) -> Conversation:
    before = {each.id for each in stage.text_channel.threads()}
    await stage.owner.slash(stage.text_channel, "agent start", project_id=1, tool="goose").reply(timeout=60)
    return next(each for each in stage.text_channel.threads() if each.id not in before)


async def question_in(thread: Conversation, after: Message) -> Message:
    return await thread.wait_for_answer(lambda m: m.components, after=after, timeout=60)


def labels(question: Message) -> list[str]:
    return [item.get("label") for row in question.components for item in row["components"]]


def option(option_id: str) -> dict:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


@pytest.mark.parametrize(("button", "told"), [("Allow once", "once"), ("Deny", "reject")])
async def test_the_button_is_the_option_that_the_agent_is_told(
    stage: Stage, thread: Conversation, agent: ScriptedAgent, button: str, told: str
) -> None:
    said = stage.owner.say(thread, "ask: rm -rf build")
    question = await question_in(thread, said)
    assert "rm -rf build" in question.content
    await stage.owner.click(question, button).reply()
    assert f"Chose {told}" in (await answer_to(thread, said)).content
    assert agent.responses()[-1] == option(told)


async def test_the_words_of_a_refusal_are_the_agents_next_message_and_the_question_says_so(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    said = stage.owner.say(thread, "ask: rm -rf build")
    question = await question_in(thread, said)
    pressed = stage.owner.click(question, "No, because …")
    await pressed.modal()
    await stage.owner.submit_modal(pressed, field0="use make clean").reply()
    told = "I refused this (Bash: rm -rf build), because: use make clean"
    await thread.wait_for_answer(lambda m: f"You said: {told}" in m.content, after=said, timeout=60)
    assert agent.prompts()[-1] == told
    assert agent.responses()[-1] == option("reject")
    assert f"Denied by <@{stage.owner.id}>: use make clean" in question.content
    assert "It gets your reason as its next message" in question.content


async def test_for_this_session_is_not_asked_again_and_never_becomes_the_agents_own_always(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    said = stage.owner.say(thread, "ask: make test")
    await stage.owner.click(await question_in(thread, said), "Allow for this session").reply()
    await answer_to(thread, said)
    said = stage.owner.say(thread, "ask: make test")
    assert "Chose once" in (await answer_to(thread, said)).content
    assert [m for m in thread.from_bot if m.id > said.id and m.components] == []
    assert agent.responses()[-2:] == [option("once"), option("once")]


async def test_of_two_ways_to_allow_once_the_person_names_one(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    said = stage.owner.say(thread, "ask: [two-once] edit /srv/a.txt")
    question = await question_in(thread, said)
    assert labels(question)[:3] == ["Yes, and allow all edits", "Yes, this once", "No"]
    await stage.owner.click(question, "Yes, this once").reply()
    assert "Chose allow-this" in (await answer_to(thread, said)).content
    assert agent.responses()[-1] == option("allow-this")


async def test_a_plan_is_approved(stage: Stage, thread: Conversation, agent: ScriptedAgent) -> None:
    said = stage.owner.say(thread, "ask: switch_mode First this, then that")
    question = await question_in(thread, said)
    assert words_of(question).startswith("The agent asks you to approve its plan")
    await stage.owner.click(question, "Approve").reply()
    await answer_to(thread, said)
    assert agent.responses()[-1] == option("once")


async def test_a_form_is_filled_in_with_a_tap(stage: Stage, thread: Conversation, agent: ScriptedAgent) -> None:
    said = stage.owner.say(thread, "form: titled")
    question = await question_in(thread, said)
    assert labels(question)[:2] == ["Red", "Blue"]
    await stage.owner.click(question, "Blue").reply()
    assert words_of(await answer_to(thread, said)) == 'Form: accept {"titled": "blue"}'
    assert agent.responses()[-1] == {"action": "accept", "content": {"titled": "blue"}}


@pytest.mark.req("B6")
async def test_nobody_in_time_means_no_and_an_agent_that_falls_silent_is_ended_and_comes_back(tmp_path: Path) -> None:
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    limits = {"FAIRLEAD_QUESTION_TIMEOUT_SEC": "5", "FAIRLEAD_AGENT_WATCHDOG_SEC": "4"}
    async with a_stage(tmp_path, **limits) as stage:
        thread = await start_thread(stage)
        said = stage.owner.say(thread, "my name is Bob\nask: rm -rf /")
        question = await question_in(thread, said)
        answer = await answer_to(thread, said)
        assert "Chose reject" in answer.content, "the watchdog does not count while a person is asked"
        assert "Nobody answered in time, so the answer was no" in question.content
        said = stage.owner.say(thread, "hang")
        ended = await answer_to(thread, said)
        assert words_of(ended).startswith(
            "E_ACP_TIMEOUT: The agent did not respond, so the session was ended by force."
        )
        assert "no update for 4 s" in ended.content
        assert not is_alive(agent.processes_with("session/prompt")[-1])
        said = stage.owner.say(thread, "what is my name?")
        assert "Bob" in (await answer_to(thread, said)).content


@pytest.mark.req("A16")
async def test_after_a_crash_a_permission_offers_a_retry_and_a_question_starts_a_new_job(tmp_path: Path) -> None:
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with a_stage(tmp_path) as stage:
        thread, other = await start_thread(stage), await start_thread(stage)
        asks = await question_in(thread, stage.owner.say(thread, "ask: rm -rf build"))
        form = await question_in(other, stage.owner.say(other, "form: titled"))
        await stage.daemon.kill()
        await stage.daemon.up()
        gone = await stage.owner.click(asks, "Allow once").followup()
        assert "/retry job_" in gone.content
        await stage.owner.click(form, "Blue").reply()
        await other.wait_for_answer(lambda m: "You said: You asked" in m.content, after=form, timeout=60)
        assert "Answer: Blue" in agent.prompts()[-1]
        assert len(agent.received("session/new")) == 2, "the talk goes on"
