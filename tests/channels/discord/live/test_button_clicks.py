"""The agent asks: buttons, choices, words of one's own; answered once, by somebody who may, also after a restart."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from loopback_discord import Conversation, Fault, Message

from tests.channels.discord.harness import Daemon, Stage, a_stage

pytestmark = pytest.mark.anyio


async def question_in(conversation: Conversation, after: Message) -> Message:
    return await conversation.wait_for_answer(lambda m: m.components, after=after)


def marked(asked: Message) -> list[str]:
    """The options that the lists show as chosen."""
    items = [item for row in asked.components for item in row["components"]]
    return [option["label"] for item in items for option in item.get("options", ()) if option.get("default")]


@pytest.mark.req("B4")
async def test_a_permission_shows_the_whole_command_and_is_allowed_once(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask rm -rf build && make all")
    asked = await question_in(thread, said)
    assert "rm -rf build && make all" in asked.content
    assert re.search(r"\n-# ⏳ <t:\d+:R>$", asked.content)
    await stage.owner.click(asked, "Allow once").reply()
    await thread.wait_for_answer(lambda m: "allowed: rm -rf build" in m.content, after=said)
    assert f"Allowed once by <@{stage.owner.id}>" in asked.content
    assert asked.components == []
    way = f"discord/{stage.text_channel.channel.guild_id}/{thread.id} by component"
    assert stage.daemon.journal("QuestionAnswered", via=way), "the journal says by which way it came"
    assert "⏳" not in asked.content, "nothing is counted down after the answer"
    assert "Always" not in asked.content, "nobody has allowed it for longer"


@pytest.mark.req("B4")
async def test_a_denial_is_told_to_the_agent(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask sudo reboot")
    asked = await question_in(thread, said)
    await stage.owner.click(asked, "Deny").reply()
    await thread.wait_for_answer(lambda m: "denied: sudo reboot" in m.content, after=said)
    assert f"Denied by <@{stage.owner.id}>" in asked.content


async def test_for_this_session_is_not_asked_again(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask make test")
    await stage.owner.click(await question_in(thread, said), "Allow for this session").reply()
    await thread.wait_for_answer(lambda m: "allowed: make test" in m.content, after=said)
    said = stage.owner.say(thread, "/ask make test")
    await thread.wait_for_answer(lambda m: "allowed: make test" in m.content, after=said)
    assert [m for m in thread.from_bot if m.id > said.id and m.components] == []


@pytest.mark.req("B4")
async def test_a_choice_of_the_agents_is_answered_with_one_tap(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue")
    asked = await question_in(thread, said)
    await stage.owner.click(asked, "blue").reply()
    await thread.wait_for_answer(lambda m: "the answer to Which colour? is blue" in m.content, after=said)
    assert f"Answered by <@{stage.owner.id}>: blue" in asked.content


async def test_many_choices_come_as_a_list(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which? | a | b | c | d | e | f")
    asked = await question_in(thread, said)
    select = next(i for i in asked.custom_ids() if i.endswith("|pick0"))
    await stage.owner.select(asked, select, "4").reply()
    await thread.wait_for_answer(lambda m: "the answer to Which? is e" in m.content, after=said)


async def test_several_lists_are_one_answer_and_the_last_choice_from_each_counts(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue || Which size? | small | large")
    asked = await question_in(thread, said)
    colour, size = (i for i in asked.custom_ids() if "|pick" in i)
    await stage.owner.select(asked, colour, "0").acknowledged()
    await stage.owner.select(asked, colour, "1").acknowledged()
    await stage.owner.select(asked, size, "1").reply()
    answer = await thread.wait_for_answer(lambda m: "the answer to Which size? is large" in m.content, after=said)
    assert "the answer to Which colour? is blue" in answer.content
    assert f"Answered by <@{stage.owner.id}>: blue; large" in asked.content
    assert asked.components == []


async def test_an_edit_that_is_slow_does_not_bring_the_lists_of_a_settled_question_back(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue || Which size? | small | large")
    asked = await question_in(thread, said)
    colour, size = (i for i in asked.custom_ids() if "|pick" in i)
    slow = stage.discord.faults.next("PATCH", "/webhooks/*/messages/@original", fault := Fault.hang())
    first = stage.owner.select(asked, colour, "1")
    await stage.discord.wait_for(lambda: slow.struck, what="the edit after the first choice")
    last = stage.owner.select(asked, size, "1")
    await thread.wait_for_answer(lambda m: "the answer to Which size? is large" in m.content, after=said)
    fault.release()
    await first.reply()
    await last.reply()
    assert f"Answered by <@{stage.owner.id}>: blue; large" in asked.content
    assert asked.components == []


async def test_what_is_chosen_from_a_list_stays_marked_while_the_others_are_open(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue || Which size? | small | large")
    asked = await question_in(thread, said)
    colour, size = (i for i in asked.custom_ids() if "|pick" in i)
    await stage.owner.select(asked, colour, "1").reply()
    assert marked(asked) == ["blue"]
    await stage.owner.select(asked, size, "0").reply()
    await thread.wait_for_answer(lambda m: "the answer to Which size? is small" in m.content, after=said)


async def test_five_lists_are_one_answer_although_four_fit(stage: Stage) -> None:
    thread = await stage.start_thread()
    lists = [f"List {n}? | {n}a | {n}b" for n in range(5)]
    said = stage.owner.say(thread, f"/question {' || '.join(lists)}")
    asked = await question_in(thread, said)
    for number in range(5):
        assert len([i for i in asked.custom_ids() if "|pick" in i]) == min(4, 5 - number)
        select = next(i for i in asked.custom_ids() if i.endswith(f"|pick{number}"))
        await stage.owner.select(asked, select, "1").reply()
    answer = await thread.wait_for_answer(lambda m: "the answer to List 4? is 4b" in m.content, after=said)
    assert all(f"the answer to List {n}? is {n}b" in answer.content for n in range(5))
    assert f"Answered by <@{stage.owner.id}>: 0b; 1b; 2b; 3b; 4b" in asked.content


async def test_what_was_chosen_before_a_crash_counts_after_it(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/question Which colour? | red | blue || Which size? | small | large")
        asked = await question_in(thread, said)
        colour, size = (i for i in asked.custom_ids() if "|pick" in i)
        await stage.owner.select(asked, colour, "1").reply()
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.owner.select(asked, size, "0").reply()
        answer = await thread.wait_for_answer(lambda m: "Answer: small" in m.content, after=said)
        assert "Answer: blue" in answer.content
        assert f"Answered by <@{stage.owner.id}>: blue; small" in asked.content


async def test_one_answer_is_chosen_and_the_other_written(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue || Which size? | small | large")
    asked = await question_in(thread, said)
    colour, _size = (i for i in asked.custom_ids() if "|pick" in i)
    await stage.owner.select(asked, colour, "0").acknowledged()
    pressed = stage.owner.click(asked, "Something else …")
    await pressed.modal()
    await stage.owner.submit_modal(pressed, field1="as it comes").reply()
    answer = await thread.wait_for_answer(lambda m: "Which size? is as it comes" in m.content, after=said)
    assert "the answer to Which colour? is red" in answer.content


async def test_a_form_with_nothing_in_it_answers_nothing_and_one_with_a_part_waits_for_the_rest(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue || Which size? | small | large")
    asked = await question_in(thread, said)
    pressed = stage.owner.click(asked, "Something else …")
    await pressed.modal()
    told = await stage.owner.submit_modal(pressed, field0=" ").reply()
    assert told.content.startswith("E_EMPTY_MESSAGE: ")
    pressed = stage.owner.click(asked, "Something else …")
    await pressed.modal()
    await stage.owner.submit_modal(pressed, field0="green").reply()
    size = next(i for i in asked.custom_ids() if i.endswith("|pick1"))
    await stage.owner.select(asked, size, "0").reply()
    answer = await thread.wait_for_answer(lambda m: "the answer to Which size? is small" in m.content, after=said)
    assert "the answer to Which colour? is green" in answer.content


async def test_an_answer_in_ones_own_words(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue")
    asked = await question_in(thread, said)
    pressed = stage.owner.click(asked, "Something else …")
    form = await pressed.modal()
    assert form["title"] == "Your answer"
    await stage.owner.submit_modal(pressed, field0="a warm green").reply()
    await thread.wait_for_answer(lambda m: "is a warm green" in m.content, after=said)


async def test_a_plan_is_approved_or_sent_back_with_words(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/plan first this, then that")
    await stage.owner.click(await question_in(thread, said), "Approve").reply()
    await thread.wait_for_answer(lambda m: "the plan was approved" in m.content, after=said)
    said = stage.owner.say(thread, "/plan first that")
    pressed = stage.owner.click(await question_in(thread, said), "Something else …")
    await pressed.modal()
    await stage.owner.submit_modal(pressed, field0="begin with tests").reply()
    await thread.wait_for_answer(lambda m: "the plan was rejected: begin with tests" in m.content, after=said)


@pytest.mark.req("A13")
async def test_a_strangers_click_counts_for_nothing(stage: Stage) -> None:
    thread = await stage.start_thread()
    eve = stage.discord.person("eve-clicks")
    said = stage.owner.say(thread, "/ask cat secrets")
    asked = await question_in(thread, said)
    told = await eve.click(asked, "Allow once").reply()
    assert told.ephemeral
    assert told.content.startswith("E_OWNER_ONLY: ")
    assert asked.components != []
    await stage.owner.click(asked, "Deny").reply()
    await thread.wait_for_answer(lambda m: "denied: cat secrets" in m.content, after=said)


@pytest.mark.req("A13")
async def test_a_strangers_choice_and_form_count_for_nothing(stage: Stage) -> None:
    thread = await stage.start_thread()
    eve = stage.discord.person("eve-chooses")
    said = stage.owner.say(thread, "/question Which? | a | b | c | d | e")
    asked = await question_in(thread, said)
    select = next(i for i in asked.custom_ids() if i.endswith("|pick0"))
    opened = stage.owner.click(asked, "Something else …")
    await opened.modal()
    tries = [eve.select(asked, select, "0"), eve.click(asked, "Something else …"), eve.submit_modal(opened, field0="x")]
    for tried in tries:
        told = await tried.reply()
        assert told.ephemeral
        assert told.content.startswith("E_OWNER_ONLY: ")
    await stage.owner.submit_modal(opened, field0="mine").reply()
    await thread.wait_for_answer(lambda m: "the answer to Which? is mine" in m.content, after=said)


async def test_an_allowed_guest_may_allow_once_and_not_for_the_session(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        bob = stage.discord.person("bob")
        stage.daemon.settings["FAIRLEAD_ALLOWED_USER_IDS"] = str(bob.id)
        await stage.daemon.up()
        thread = await stage.start_thread()
        said = bob.say(thread, "/ask make")
        asked = await question_in(thread, said)
        refused = await bob.click(asked, "Allow for this session").followup()
        assert refused.content.startswith("E_OWNER_ONLY: Only the owner")
        await bob.click(asked, "Allow once").reply()
        await thread.wait_for_answer(lambda m: "allowed: make" in m.content, after=said)


async def test_a_question_that_nobody_answers_is_a_no_and_loses_its_buttons(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_QUESTION_TIMEOUT_SEC="0.5") as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/ask make")
        asked = await question_in(thread, said)
        await thread.wait_for_answer(lambda m: "denied: make" in m.content, after=said)
        await stage.discord.wait_for(lambda: asked.components == [], what="the buttons to go")
        assert "Nobody answered in time" in asked.content


async def test_a_settled_question_is_said_to_be_settled(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask date")
    asked = await question_in(thread, said)
    components = list(asked.components)
    await stage.owner.click(asked, "Allow once").reply()
    await thread.wait_for_answer(lambda m: "allowed: date" in m.content, after=said)
    asked.components = components  # a client that has not redrawn yet
    late = await stage.owner.click(asked, "Deny").followup()
    assert late.content == f"E_QUESTION_CLOSED: Already answered by <@{stage.owner.id}>"


@pytest.mark.req("A3", "B4")
async def test_a_click_in_an_archived_thread_shows_too(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which? | a | b")
    asked = await question_in(thread, said)
    thread.archive()
    await stage.owner.click(asked, "a").reply()
    assert asked.content.endswith(f"-# Answered by <@{stage.owner.id}>: a")
    assert asked.components == []


async def test_no_form_is_opened_for_a_question_that_is_settled(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/question Which colour? | red | blue")
    asked = await question_in(thread, said)
    components = list(asked.components)
    await stage.owner.click(asked, "red").reply()
    asked.components = components  # a client that has not redrawn yet
    told = await stage.owner.click(asked, "Something else …").reply()
    assert told.content == f"E_QUESTION_CLOSED: Already answered by <@{stage.owner.id}>"


async def test_of_two_clicks_at_once_the_first_counts_and_the_second_is_told_whose_did(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask make twice")
    asked = await question_in(thread, said)
    first, second = stage.owner.click(asked, "Allow once"), stage.owner.click(asked, "Deny")
    assert (await second.followup()).content == f"E_QUESTION_CLOSED: Already answered by <@{stage.owner.id}>"
    await first.reply()
    await thread.wait_for_answer(lambda m: "allowed: make twice" in m.content, after=said)
    assert asked.content.endswith(f"-# Allowed once by <@{stage.owner.id}>")


@pytest.mark.req("A1", "B4")
@pytest.mark.parametrize(
    "fault", [Fault.after_work(), Fault.reset_after_work(), Fault.reset()], ids=["500 after work", "lost", "reset"]
)
async def test_a_click_counts_and_shows_although_its_acknowledgement_was_lost(stage: Stage, fault: Fault) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask make")
    asked = await question_in(thread, said)
    stage.discord.faults.next("POST", "/interactions/*", fault)
    stage.owner.click(asked, "Allow once")
    await thread.wait_for_answer(lambda m: "allowed: make" in m.content, after=said)
    await stage.discord.wait_for(lambda: asked.components == [], what="the buttons to go")
    assert asked.content.endswith(f"-# Allowed once by <@{stage.owner.id}>")


@pytest.mark.req("A1", "B4")
async def test_a_click_that_was_heard_too_late_to_acknowledge_counts_and_shows(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask make")
    asked = await question_in(thread, said)
    stage.owner.click(asked, "Deny").interaction.created_at -= 2 * stage.discord.world.acknowledge_within_sec
    await thread.wait_for_answer(lambda m: "denied: make" in m.content, after=said)
    await stage.discord.wait_for(lambda: asked.components == [], what="the buttons to go")
    assert asked.content.endswith(f"-# Denied by <@{stage.owner.id}>")


@pytest.mark.req("B4")
@pytest.mark.parametrize("end", [Daemon.kill, Daemon.stop])
async def test_buttons_work_after_a_restart_a_question_goes_on_and_a_permission_offers_retry(
    tmp_path: Path, end: Callable[[Daemon], Awaitable[None]]
) -> None:
    async with a_stage(tmp_path) as stage:
        one, two = await stage.start_thread(), await stage.start_thread()
        question = await question_in(one, stage.owner.say(one, "/question Which colour? | red | blue"))
        permission = await question_in(two, stage.owner.say(two, "/ask make"))
        await end(stage.daemon)
        await stage.daemon.up()
        await stage.owner.click(question, "red").reply()
        assert "goes to the agent as a new message" in question.content
        await one.wait_for_answer(lambda m: "Answer: red" in m.content)
        refused = await stage.owner.click(permission, "Allow once").followup()
        job = stage.daemon.journal("QuestionAsked")[-1]["payload"]["job_id"]
        assert refused.content == (
            f"E_QUESTION_CLOSED: The job that asked was interrupted. Use /retry {job} to run it again."
        )


async def test_a_button_of_another_state_directory_answers_nothing(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        asked = await question_in(thread, stage.owner.say(thread, "/ask make"))
        await stage.daemon.kill()
        stage.daemon.settings["STATE_DIR"] = str(tmp_path / "another")
        await stage.daemon.up()
        said = stage.owner.say(stage.owner.dm, "/ask rm -rf /")
        await question_in(stage.owner.dm, said)
        told = await stage.owner.click(asked, "Allow once").reply()
        assert told.content.startswith("E_QUESTION_CLOSED: ")
        assert stage.daemon.home.joinpath("another").exists()


# --- refused with words ----------------------------------------------------------------------------------------------


@pytest.mark.req("B4")
async def test_a_permission_is_refused_with_words_that_the_agent_reads(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask rm -rf build")
    asked = await question_in(thread, said)
    pressed = stage.owner.click(asked, "No, because …")
    await pressed.modal()
    told = await stage.owner.submit_modal(pressed, field0="  ").reply()
    assert told.content.startswith("E_EMPTY_MESSAGE")
    pressed = stage.owner.click(asked, "No, because …")
    await pressed.modal()
    await stage.owner.submit_modal(pressed, field0="use make clean").reply()
    await thread.wait_for_answer(lambda m: "denied: rm -rf build (use make clean)" in m.content, after=said)
    assert f"Denied by <@{stage.owner.id}>: use make clean" in asked.content
    assert asked.components == []
    answered = stage.daemon.journal("QuestionAnswered")[-1]["payload"]
    assert (answered["verdict"], answered["message"]) == ("deny", "use make clean")


async def test_a_strangers_words_refuse_nothing(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask make")
    asked = await question_in(thread, said)
    eve = stage.discord.person("eve-refuses")
    opened = stage.owner.click(asked, "No, because …")
    await opened.modal()
    for tried in (eve.click(asked, "No, because …"), eve.submit_modal(opened, field0="never")):
        told = await tried.reply()
        assert told.ephemeral
        assert told.content.startswith("E_OWNER_ONLY: ")
    await stage.owner.click(asked, "Allow once").reply()
    await thread.wait_for_answer(lambda m: "allowed: make" in m.content, after=said)


async def test_the_form_of_a_refusal_works_after_a_restart(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        asked = await question_in(thread, stage.owner.say(thread, "/ask make"))
        pressed = stage.owner.click(asked, "No, because …")
        await pressed.modal()
        await stage.daemon.kill()
        await stage.daemon.up()
        job = stage.daemon.journal("QuestionAsked")[-1]["payload"]["job_id"]
        told = await stage.owner.submit_modal(pressed, field0="no").followup()
        assert told.content == (
            f"E_QUESTION_CLOSED: The job that asked was interrupted. Use /retry {job} to run it again."
        )
        later = await stage.owner.click(asked, "No, because …").reply()
        assert later.content.startswith("E_QUESTION_CLOSED")


# --- standing rules --------------------------------------------------------------------------------------------------


@pytest.mark.req("B4")
async def test_a_rule_is_shown_made_used_listed_and_removed_also_after_a_restart(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/ask pytest -q tests")
        asked = await question_in(thread, said)
        assert "Always: `pytest …` in api, with any arguments" in asked.content
        await stage.owner.click(asked, "Always: pytest …").reply()
        await thread.wait_for_answer(lambda m: "allowed: pytest -q tests" in m.content, after=said)
        assert f"Always allowed by <@{stage.owner.id}>, as rule 1 (/rules)" in asked.content
        assert "Always: `pytest …` in api, with any arguments" in asked.content, "which rule that is"
        await stage.daemon.kill()
        await stage.daemon.up()
        other = await stage.start_thread()  # every session of the project
        said = stage.owner.say(other, "/ask pytest -k 'a or b'\n/hang")
        status = await other.wait_for_answer(lambda m: "Allowed by rule 1: `pytest …`" in m.content, after=said)
        assert status.components == []
        await stage.daemon.cancel(said)
        await stage.daemon.until_journalled("JobCancelled")
        said = stage.owner.say(other, "/ask pytest; rm -rf ~")
        asked = await question_in(other, said)
        await stage.owner.click(asked, "Deny").reply()
        listed = await stage.owner.slash(other, "rules list").reply()
        assert "1. pytest … (project: api, used: 1" in listed.content
        removed = await stage.owner.slash(other, "rules remove", number=1).reply()
        assert removed.content == "Removed rule 1: `pytest …` in api"
        said = stage.owner.say(other, "/ask pytest")
        await question_in(other, said)
        nothing = await stage.owner.slash(other, "rules list").reply()
        assert nothing.content.startswith("There are no standing rules.")


async def test_a_guest_makes_no_rule_removes_none_and_sees_those_of_shared_threads_alone(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        guest = stage.discord.person("bob")
        stage.daemon.settings["FAIRLEAD_ALLOWED_USER_IDS"] = str(guest.id)
        await stage.daemon.up()
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/ask pytest")
        asked = await question_in(thread, said)
        refused = await guest.click(asked, "Always: pytest …").followup()
        assert refused.content == "E_OWNER_ONLY: Only the owner can allow this for longer than once"
        await stage.owner.click(asked, "Always: pytest …").reply()
        said = stage.owner.say(stage.owner.dm, "/ask ruff check secret")
        await stage.owner.click(await question_in(stage.owner.dm, said), "Always: ruff …").reply()
        listed = await guest.slash(thread, "rules list").reply()
        assert "pytest …" in listed.content
        assert "ruff" not in listed.content
        refused = await guest.slash(thread, "rules remove", number=1).reply()
        assert refused.content.startswith("E_OWNER_ONLY")
        said = guest.say(thread, "/ask pytest x")  # a rule of the project holds for everybody who may talk in it
        await thread.wait_for_answer(lambda m: "allowed: pytest x" in m.content, after=said)


async def test_a_message_that_quotes_another_is_asked_about_whatever_the_rules_say(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/ask ruff check")
    await stage.owner.click(await question_in(thread, said), "Always: ruff …").reply()
    answer = await thread.wait_for_answer(lambda m: "allowed: ruff check" in m.content, after=said)
    said = stage.owner.say(thread, "/ask ruff format", reply_to=answer)
    asked = await question_in(thread, said)
    assert "Always:" not in asked.content
    await stage.owner.click(asked, "Deny").reply()
