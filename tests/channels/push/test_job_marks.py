"""Which mark belongs to a message, told by the jobs and refusals of a real flow in virtual time."""

from fairlead.channels.push.job_marks import JobMarks
from fairlead.channels.push.marks import DONE, FAILED, QUEUED, TAKEN
from fairlead.core.live import AnswerSettled
from fairlead.core.message_ids import reaction_id, retry_id
from fairlead.testing.channel import ChannelHistory, RecordingChannel
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually

HERE = conversation_ref(OWNER)


class Wanted:
    """What was wanted, in order."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, str]] = []

    def __call__(self, conversation, message_id, mark, may_stand) -> None:
        del may_stand
        assert conversation.address == HERE.address
        self.marks.append((message_id, mark))


@virtually
async def test_success_is_shown_when_the_answer_is_there_and_not_before():
    wanted, channel = Wanted(), RecordingChannel(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        marks, watch = JobMarks("chat", flow.view, wanted), flow.view.watch()
        await flow.say("hello", message_id="7")
        async for event in watch:
            marks.follow(event)
            if isinstance(event, AnswerSettled):
                break
            assert (("7", DONE) in wanted.marks) is False
        await watch.aclose()
        assert wanted.marks == [("7", QUEUED), ("7", TAKEN), ("7", DONE)]


@virtually
async def test_an_answer_that_was_given_up_is_no_success_also_when_the_next_process_tells_it():
    wanted, channel = Wanted(), RecordingChannel(ChannelHistory())
    channel.history.closed.add(HERE.address)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello", message_id="7")
        await flow.quiet()
        marks = JobMarks("chat", flow.view, wanted)
        marks.note_ends()
        marks.restore()
        marks.restore()
        assert wanted.marks == [("7", FAILED)], "what an earlier process left is looked at once"


@virtually
async def test_a_refusal_marks_the_message_that_somebody_wrote():
    wanted = Wanted()
    async with run_flow() as flow:
        marks = JobMarks("chat", flow.view, wanted)
        for message_id in ("7", reaction_id("8"), retry_id("job_1")):
            marks.refuse(HERE, message_id)
        assert wanted.marks == [("7", FAILED), ("8", FAILED)]
