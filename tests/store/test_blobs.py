"""Blobs are durable before anybody may name them, and gone when nobody does."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.events import DeliveryPlanned, FileRef, Piece
from fairlead.core.inbound import Attachment
from fairlead.core.state import Job, OutboxEntry, State
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import REAL_DISK
from fairlead.store.blobs import BLOBS_NAME, REMEMBERED, FileBlobs, named_blobs
from tests.store.harness import STATE, TroubledDisk, at_once, disk_with

pytestmark = [pytest.mark.anyio, pytest.mark.req("A7")]

HERE = ConversationRef("http", "local", "me")


async def test_what_was_put_is_there_under_a_name_made_of_its_content(tmp_path: Path):
    blobs = FileBlobs(tmp_path, disk=REAL_DISK, offload=asyncio.to_thread)
    name = await blobs.put(b"a long answer")
    assert await blobs.put(b"a long answer") == name
    assert await blobs.get(name) == b"a long answer"
    kept = tmp_path / BLOBS_NAME / name
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in kept.parent.iterdir()] == [name]


async def test_a_name_that_was_given_out_survives_any_power_loss():
    disk = disk_with(b"")
    name = await FileBlobs(STATE, disk=disk, offload=at_once).put(b"kept")
    for seed in range(50):
        after = disk.crash(Random(seed))
        assert await FileBlobs(STATE, disk=after, offload=at_once).get(name) == b"kept"


async def test_only_the_last_names_are_remembered_and_a_forgotten_one_is_simply_written_again():
    disk = disk_with(b"")
    blobs = FileBlobs(STATE, disk=disk, offload=at_once)
    names = [await blobs.put(str(n).encode()) for n in range(REMEMBERED + 1)]
    before = disk.operations
    assert await blobs.put(str(REMEMBERED).encode()) == names[-1]
    assert disk.operations == before, "the newest is known to be there"
    assert await blobs.put(b"0") == names[0]
    assert disk.operations > before, "the oldest is not, so that memory has a bound"
    assert await blobs.get(names[0]) == b"0"


@pytest.mark.req("B11")
@pytest.mark.parametrize("name", ["", "..", "../events.ndjson", "a" * 63, "A" * 64, "/" * 64, "a" * 63 + "\n"])
async def test_a_name_that_is_no_blobs_reaches_nothing(tmp_path: Path, name: str):
    blobs = FileBlobs(tmp_path, disk=REAL_DISK, offload=at_once)
    with pytest.raises(FairleadError) as caught:
        await blobs.get(name)
    assert caught.value.code is Code.E_ATTACHMENT_GONE


async def test_a_blob_that_is_gone_says_so(tmp_path: Path):
    blobs = FileBlobs(tmp_path, disk=REAL_DISK, offload=at_once)
    with pytest.raises(FairleadError) as caught:
        await blobs.get("0" * 64)
    assert caught.value.code is Code.E_ATTACHMENT_GONE


@pytest.mark.req("A18")
async def test_a_full_disk_is_said_as_such_and_leaves_nothing_behind(tmp_path: Path):
    disk = TroubledDisk()
    blobs = FileBlobs(tmp_path, disk=disk, offload=at_once)
    disk.room = 3
    with pytest.raises(FairleadError) as caught:
        await blobs.put(b"more than three")
    assert caught.value.code is Code.E_DISK_FULL
    assert list((tmp_path / BLOBS_NAME).iterdir()) == []
    disk.room = None
    assert await blobs.get(await blobs.put(b"more than three")) == b"more than three"


async def test_a_start_forgets_what_nobody_names(tmp_path: Path):
    blobs = FileBlobs(tmp_path, disk=REAL_DISK, offload=at_once)
    kept = [await blobs.put(f"blob {n}".encode()) for n in range(5)]
    await blobs.put(b"was being written when it stopped")
    (tmp_path / BLOBS_NAME / ".x.1-1.tmp").write_bytes(b"half")
    state = State()
    state.jobs["j"] = Job(
        job_id="j",
        session_key="k",
        session_id="k",
        conversation=HERE,
        message_id="1",
        person="me",
        state="queued",
        prompt="",
        enqueued_at="t",
        prompt_blob=kept[0],
    )
    state.jobs["j"].attachments = (Attachment(name="a.png", blob=kept[1]), Attachment(name="not fetched yet"))
    state.jobs["j"].answer_blob = kept[2]
    state.jobs["j"].files = (FileRef("x", kept[3]),)
    plan = DeliveryPlanned(
        entry_id="d", destination=HERE, route="bound", reason="", pieces=(Piece("x", (FileRef("answer.md", kept[4]),)),)
    )
    state.outbox["d"] = OutboxEntry(
        entry_id="d", kind="answer", session_key="k", requester=HERE, owed_at="t", plan=plan
    )
    assert blobs.forget_unnamed(named_blobs(state)) == 1
    assert sorted(p.name for p in (tmp_path / BLOBS_NAME).iterdir()) == sorted(kept)
