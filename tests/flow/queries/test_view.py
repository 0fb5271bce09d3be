"""What a channel sees through View: read models that stay as they were seen, and nothing of the state itself."""

import asyncio

import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Attachment
from fairlead.core.limits import Limits
from fairlead.core.live import QuestionOpened, QuestionSettled
from fairlead.core.message_outcomes import Enqueued, Refused, Skipped
from fairlead.core.views import (
    ConversationView,
    Counts,
    JobView,
    ProjectView,
    QuestionView,
    SessionView,
)
from fairlead.errors import Code, FairleadError
from fairlead.ports import View
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually
from fairlead.testing.simulated_machine import SimulatedPullChannel
from tests.flow.harness import OWNER, PretendedDirectories, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("A12", "D7")

MY_KEY = f"agent:fairlead:user:{OWNER}"
HERE = conversation_ref(OWNER)
PULLED = ConversationRef("pull", "home", OWNER)


def ids(jobs: list[JobView]) -> list[str]:
    return [job.job_id for job in jobs]


@virtually
async def test_a_job_is_all_that_a_channel_needs_of_it_and_stays_as_it_was_seen():
    async with run_flow() as flow:
        view: View = flow.view
        promised = (Attachment(name="notes.txt", media_type="text/plain", size=3, url="https://example.org/notes.txt"),)
        receipt = await flow.say("/slow 10\nwords", attachments=promised, message_id="77")
        await flow.until(lambda: bool(flow.state.running))
        seen = view.recent_job(receipt.job_id)
        assert seen is not None
        assert seen == JobView(
            job_id=receipt.job_id,
            session_key=MY_KEY,
            state="running",
            attempt=1,
            enqueued_at=seen.enqueued_at,
            runtime="echo",
            started_at=seen.started_at,
            project=seen.project,
            conversation=HERE,
            message_id="77",
            person=OWNER,
            attachments=promised,
        )
        assert seen.is_live
        await flow.ended(receipt.job_id)
        assert seen.state == "running"
        ended = view.recent_job(receipt.job_id)
        assert ended is not None
        assert (ended.state, ended.is_live, ended.answer) == ("success", False, ""), "texts are asked for by `job`"
        assert view.recent_job("job_20260105_0099") is None


@virtually
async def test_jobs_that_wait_are_found_where_they_were_said():
    async with run_flow() as flow:
        await flow.say("/hang")
        await flow.until(lambda: bool(flow.state.running))
        first = await flow.say("first")
        elsewhere = await flow.say("said in another room", at=conversation_ref("other"))
        second = await flow.say("second")
        assert ids(flow.view.queued_jobs(HERE)) == [first.job_id, second.job_id]
        assert ids(flow.view.queued_jobs(conversation_ref("other"))) == [elsewhere.job_id]
        assert flow.view.queued_jobs(conversation_ref("nobody")) == []


@virtually
async def test_unsettled_is_what_runs_and_what_is_still_owed():
    history = ChannelHistory()
    weather = Weather.AWAY
    channels = [RecordingChannel(history, weather=lambda: weather), SimulatedPullChannel()]
    async with run_flow(channels=channels, history=history) as flow:
        owed = await flow.answered("hello")
        running = await flow.say("/hang", user="43")
        pulled = await flow.answered("hello", at=PULLED, user="44")
        assert [(j.job_id, j.answer_owed) for j in flow.view.unsettled_jobs("chat")] == [
            (owed.job_id, True),
            (running.job_id, False),
        ]
        assert ids(flow.view.unsettled_jobs("pull")) == [pulled.job_id]
        weather = Weather.FAIR
        flow.gate.came_back("chat")
        await flow.until(lambda: flow.view.answer_owed_to(owed.job_id) is None)
        assert ids(flow.view.unsettled_jobs("chat")) == [running.job_id]


@virtually
async def test_who_asked_is_known_until_the_answer_is_there():
    async with run_flow(channels=[SimulatedPullChannel()]) as flow:
        job = await flow.answered("hello", at=PULLED)
        assert flow.view.answer_owed_to(job.job_id) == PULLED
        assert flow.view.unfetched_jobs(PULLED) == [job.job_id]
        await flow.gate.acknowledge(job.job_id)
        assert flow.view.answer_owed_to(job.job_id) is None
        assert flow.view.unfetched_jobs(PULLED) == []


@virtually
async def test_the_last_jobs_to_end_are_those_near_the_latest_end_on_any_channel():
    async with run_flow(channels=[RecordingChannel(ChannelHistory()), SimulatedPullChannel()]) as flow:
        assert flow.view.jobs_ended_last("chat", within_sec=60) == []
        await flow.answered("long ago")
        await asyncio.sleep(100)
        lately = await flow.answered("lately")
        await asyncio.sleep(30)
        latest = await flow.answered("the latest", at=PULLED, user="43")
        hanging = await flow.say("/hang", user="44")
        await flow.until(lambda: bool(flow.state.running))
        assert ids(flow.view.jobs_ended_last("chat", within_sec=60)) == [lately.job_id]
        assert ids(flow.view.jobs_ended_last("chat", within_sec=10)) == []
        assert ids(flow.view.jobs_ended_last("pull", within_sec=60)) == [latest.job_id]
        assert ids(flow.view.jobs_ended_last("chat", within_sec=10, at_least=1)) == [lately.job_id]
        disk = flow.disk
    await asyncio.sleep(500)
    async with run_flow(disk=disk, channels=[], life=1) as flow:
        assert ids(flow.view.jobs_ended_last("chat", within_sec=60)) == [lately.job_id, hanging.job_id], (
            "an interruption is noted at the start: it does not make the other ends long ago"
        )


@virtually
async def test_where_nothing_but_interruptions_ended_a_job_they_are_the_last_ends():
    """Their marks and statuses may be left over, however many starts were cut off before they were set right."""
    async with run_flow() as flow:
        hanging = await flow.say("/hang")
        await flow.until(lambda: bool(flow.state.running))
        disk = flow.disk
    for life in (1, 2):
        await asyncio.sleep(1000)
        async with run_flow(disk=disk, life=life) as flow:
            assert ids(flow.view.jobs_ended_last("chat", within_sec=60, at_least=20)) == [hanging.job_id]
            assert ids(flow.view.jobs_ended_last("chat", within_sec=60)) == [hanging.job_id]
            disk = flow.disk


@pytest.mark.parametrize("days", [8, -8])
def test_a_clock_that_jumps_between_two_ends_hides_neither(days: int):
    async def story() -> None:
        async with run_flow() as flow:
            first = await flow.answered("before the jump")
            flow.world.clock.offset += days * 86400
            second = await flow.answered("after the jump")
            ended = flow.view.jobs_ended_last("chat", within_sec=60, at_least=20)
            assert ids(ended) == [first.job_id, second.job_id]

    run_virtually(story())


@virtually
async def test_the_last_refused_messages_are_known_by_their_numbers():
    async with run_flow(limits=Limits(max_queue_per_session=1)) as flow:
        await flow.say("/hang")
        await flow.until(lambda: bool(flow.state.running))
        await flow.say("waits")
        for number in range(1, 4):
            with pytest.raises(FairleadError):
                await flow.say("too many", message_id=f"90{number}")
        with pytest.raises(FairleadError):
            await flow.say("no number", message_id="a-key")
        refused = flow.view.refused_lately("chat", most=2)
        assert [(m.conversation, m.message_id, m.code) for m in refused] == [
            (conversation_ref(OWNER), "902", Code.E_QUEUE_FULL),
            (conversation_ref(OWNER), "903", Code.E_QUEUE_FULL),
        ]
        assert flow.view.refused_lately("pull", most=2) == []


@virtually
async def test_a_question_says_what_became_of_it():
    async with run_flow() as flow:
        receipt = await flow.say("/ask ls")
        question_id = await flow.question()
        opened = flow.view.question(question_id)
        assert opened is not None
        assert (opened.status, opened.takes_responses, opened.job_is_live) == ("open", True, True)
        assert (opened.kind, opened.tool, opened.detail) == ("permission", "Bash", "ls")
        await flow.click(question_id, "deny")
        assert opened.status == "open"
        settled = flow.view.question(question_id)
        assert settled is not None
        assert (settled.status, settled.outcome, settled.answered_by) == ("answered", "deny", OWNER)
        assert not settled.takes_responses
        await flow.ended(receipt.job_id)
        assert flow.view.question("q_99") is None


@virtually
async def test_open_questions_are_those_that_still_take_responses():
    async with run_flow() as flow:
        mine = await flow.say("/ask ls")
        theirs = await flow.say("/question Which? | red | blue", user="43")
        await flow.until(lambda: len(flow.state.questions) == 2)
        view = flow.view
        assert [q.job_id for q in view.open_questions()] == [mine.job_id, theirs.job_id]
        assert [q.job_id for q in view.open_questions(session_key=MY_KEY)] == [mine.job_id]
        assert [q.job_id for q in view.open_questions(job_id=theirs.job_id)] == [theirs.job_id]
        assert view.open_questions(session_key=MY_KEY, job_id=theirs.job_id) == []
        disk = flow.disk
    async with run_flow(disk=disk, life=1) as flow:
        permission, question = (flow.view.question(q) for q in flow.state.questions)
        assert permission is not None
        assert question is not None
        assert (permission.status, permission.job_is_live, permission.takes_responses) == ("open", False, False)
        assert (question.status, question.job_is_live, question.takes_responses) == ("open", False, True)
        assert flow.view.open_questions() == [question]


@virtually
async def test_watchers_are_given_the_question_itself():
    async with run_flow() as flow:
        watch = flow.view.watch()
        receipt = await flow.say("/ask ls")
        question_id = await flow.question()
        await asyncio.sleep(1)
        await flow.click(question_id)
        await flow.ended(receipt.job_id)
        await asyncio.sleep(1)
        shown = [e for e in watch._backlog if isinstance(e, QuestionOpened | QuestionSettled)]
        await watch.aclose()
        assert [(type(e), e.question.question_id, e.question.outcome) for e in shown] == [
            (QuestionOpened, question_id, ""),
            (QuestionSettled, question_id, "allow"),
        ]


@virtually
async def test_a_session_shows_its_project_its_tool_and_its_queue():
    async with run_flow() as flow:
        assert flow.view.session(MY_KEY) is None
        running = await flow.say("/hang")
        await flow.until(lambda: bool(flow.state.running))
        queued = await flow.say("later")
        session = flow.view.session(MY_KEY)
        assert session == SessionView(
            session_key=MY_KEY,
            session_id=MY_KEY,
            project="api",
            runtime="echo",
            queue=(queued.job_id,),
            running_job_id=running.job_id,
        )
        assert (session.key.kind, session.key.target_id) == ("user", OWNER)


@virtually
async def test_a_conversation_is_known_once_a_session_is_bound_to_it():
    thread = ConversationRef("chat", "home", "77", "7")
    async with run_flow() as flow:
        assert flow.view.conversation(thread) is None
        await flow.answered("hello", at=thread)
        await flow.answered("hello", at=PULLED, user="43")
        bound = ConversationView(conversation=thread, session_key=MY_KEY)
        without_parent = ConversationRef("chat", "home", "77")
        assert flow.view.conversation(without_parent) == bound, "the parent is a property of the conversation"
        assert flow.view.bound_conversations("chat") == [bound]
        assert flow.view.bound_conversations("post") == []


@virtually
async def test_every_message_has_one_outcome():
    async with run_flow() as flow:
        view = flow.view
        receipt = await flow.say("hello", message_id="101")
        with pytest.raises(FairleadError):
            await flow.say("  ", message_id="102")
        await flow.gate.skip(flow.inbound("too old", message_id="103"), "older than a day")
        assert view.message_outcome(HERE, "101") == Enqueued(receipt.job_id)
        assert view.message_outcome(HERE, "102") == Refused("E_EMPTY_MESSAGE")
        assert view.message_outcome(HERE, "103") == Skipped("older than a day")
        assert view.message_outcome(HERE, "104") is None
        assert view.message_outcome(conversation_ref("other"), "101") is None


@virtually
async def test_the_last_message_seen_is_remembered_for_longer_than_its_outcome():
    async with run_flow() as flow:
        view = flow.view
        assert view.last_message_seen(HERE) is None
        await flow.answered("hello", message_id="a-key-of-a-client")
        assert view.last_message_seen(HERE) is None, "only numbers rise"
        await flow.answered("hello", message_id="205")
        await flow.answered("hello", message_id="203")
        assert view.last_message_seen(HERE) == 205
        for _ in range(16):
            await asyncio.sleep(86400)
            await flow.answered("another day", user="43")
        assert view.message_outcome(HERE, "205") is None
        assert view.last_message_seen(HERE) == 205
        assert view.last_message_seen(conversation_ref("other")) is None


@virtually
async def test_projects_come_by_number_with_what_is_wrong_with_them():
    directories = PretendedDirectories()
    async with run_flow(projects=("/srv/web", "/srv/api"), directories=directories) as flow:
        disk = flow.disk
    directories.gone.add("/srv/api")
    async with run_flow(disk=disk, projects=(), directories=directories) as flow:
        assert flow.view.projects() == [
            ProjectView(number=1, name="web"),
            ProjectView(number=2, name="api", disabled="/srv/api does not exist."),
        ]


@virtually
async def test_a_person_is_spoken_to_in_the_locale_that_was_last_seen():
    async with run_flow() as flow:
        assert (flow.view.locale_of(OWNER), flow.view.language_of(OWNER)) == ("", "en")
        await flow.gate.see_person(OWNER, "zh-TW")
        assert (flow.view.locale_of(OWNER), flow.view.language_of(OWNER)) == ("zh-TW", "zh-TW")


@virtually
async def test_the_counts_add_up():
    async with run_flow() as flow:
        await flow.answered("/usage 10 5 0.25")
        await flow.answered("/fail E_AGENT_ERROR")
        with pytest.raises(FairleadError):
            await flow.say("  ")
        await flow.quiet()
        await flow.say("/ask ls", user="43")
        await flow.question()
        await flow.say("behind it", user="43")
        counts = flow.view.counts()
        assert counts == Counts(
            seq=flow.view.seq,
            received=5,
            settled=dict.fromkeys(counts.settled, 0) | {"answered": 1, "failed": 1, "refused": 1},
            live_jobs={"queued": 1, "running": 0, "waiting": 1, "steering": 0},
            queued={"agent:fairlead:user:43": 1},
            sessions=2,
            open_questions=1,
            outbox_entries=counts.outbox_entries,
            cost_usd=0.25,
        )
        assert counts.received == sum(counts.settled.values()) + sum(counts.live_jobs.values())
        assert flow.view.state_id == "abcd"


def test_read_models_cannot_be_changed_and_are_built_with_keywords():
    for kind in (JobView, QuestionView, SessionView, ConversationView, ProjectView, Counts):
        assert kind.__struct_config__.frozen
        with pytest.raises(TypeError, match="positional"):
            kind("by position")
