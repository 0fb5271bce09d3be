"""An answer is composed when its text can be read and its pieces can be kept."""

import asyncio

import pytest

from fairlead.errors import Code
from fairlead.ports import ChannelCapabilities
from fairlead.testing.channel import ChannelHistory, RecordingChannel
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually
from tests.flow.outbox.harness import Skies, chat, saying

pytestmark = pytest.mark.req("A2")


@virtually
async def test_a_long_answer_whose_file_was_removed_says_so_and_ends_nothing():
    skies = Skies()
    async with run_flow(runtimes=[saying("z" * 400_000)], channels=[]) as flow:
        job = await flow.answered("hello")
        flow.disk.unlink(flow.blobs._directory / job.answer_blob)
        disk = flow.disk
    channel = chat(skies)
    async with run_flow(disk=disk, channels=[channel], history=channel.history) as flow:
        await flow.quiet()
        assert Code.E_ATTACHMENT_GONE in "".join(flow.texts(conversation_ref(OWNER)))
        assert (await flow.answered("next")).state == "success"


@virtually
async def test_an_answer_for_which_there_is_no_room_to_compose_is_composed_later():
    class Filing(RecordingChannel):
        @property
        def capabilities(self) -> ChannelCapabilities:
            return ChannelCapabilities(text_limit=400, max_pieces=2, files=True, push=True)

    channel = Filing(ChannelHistory(), text_limit=400)
    async with run_flow(runtimes=[saying("word " * 20_000)], channels=[channel], history=channel.history) as flow:
        await flow.say("hello")
        await flow.until(lambda: bool(flow.state.outbox))
        flow.disk.capacity = flow.disk.used_bytes + 5000
        await asyncio.sleep(1)
        flow.disk.capacity = None
        await flow.quiet()
        assert len(flow.posts(conversation_ref(OWNER))) == 2
