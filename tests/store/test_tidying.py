"""A daemon that stays up frees its disk too, and removes nothing that a fact names or is about to name."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Attachment
from fairlead.core.state import Job, State
from fairlead.kit.files import REAL_DISK, open_private_append, replace_durably_with
from fairlead.store.blobs import BLOBS_NAME, FileBlobs
from fairlead.store.inboxes import FileInboxes
from fairlead.store.tidying import TIDY_SECONDS, Tidying
from fairlead.testing.clock import run_virtually
from tests.store.harness import STATE, at_once, disk_with

pytestmark = pytest.mark.req("A7")


class Durable:
    """A journal whose every line is on disk."""

    durable_seq = 0
    is_stalled = False
    damage = ""
    checked_bytes = 0

    async def until_durable(self, seq: int) -> None:
        pass


def job_with(prompt_blob: str) -> Job:
    return Job(
        job_id="job_1",
        session_key="k",
        session_id="s",
        conversation=ConversationRef("http", "local", "me"),
        message_id="1",
        person="p",
        state="queued",
        prompt="",
        enqueued_at="",
        prompt_blob=prompt_blob,
    )


def test_files_that_nothing_needs_go_while_the_daemon_runs():
    async def story() -> None:
        disk, state = disk_with(b""), State()
        blobs = FileBlobs(STATE, disk=disk, offload=at_once)
        inboxes = FileInboxes(STATE, blobs, disk=disk, offload=at_once)
        for left in (STATE / ".snapshot.json.12-1.tmp", STATE / BLOBS_NAME / ".abc.12-2.tmp"):
            open_private_append(left, disk=disk)
        named, unnamed = await blobs.put(b"named"), await blobs.put(b"unnamed")
        state.jobs["job_1"] = job_with(named)
        tidying = Tidying((STATE, STATE / BLOBS_NAME), disk=disk, offload=at_once)
        task = asyncio.ensure_future(tidying.keep_tidy(state, Durable(), blobs, inboxes))
        await asyncio.sleep(TIDY_SECONDS + 1)
        assert not [name for name in (*disk.listdir(STATE), *disk.listdir(STATE / BLOBS_NAME)) if "tmp" in name]
        assert set(disk.listdir(STATE / BLOBS_NAME)) == {named, unnamed}, "a fact may be on its way that names it"
        await asyncio.sleep(TIDY_SECONDS)
        assert disk.listdir(STATE / BLOBS_NAME) == [named]
        assert await blobs.put(b"unnamed") == unnamed
        assert await blobs.get(unnamed) == b"unnamed", "what was removed is written again when it is put again"
        del state.jobs["job_1"]
        await asyncio.sleep(TIDY_SECONDS)
        assert disk.listdir(STATE / BLOBS_NAME) == [unnamed]
        task.cancel()

    run_virtually(story())


def test_old_logs_and_the_inbox_files_of_forgotten_jobs_go_too(tmp_path: Path):
    async def story() -> None:
        forgotten: list[str] = []
        state = State()
        blobs = FileBlobs(tmp_path, disk=REAL_DISK, offload=at_once)
        inboxes = FileInboxes(tmp_path, blobs, disk=REAL_DISK, offload=at_once)
        sent = Attachment(name="a.png", media_type="image/png", size=5, blob=await blobs.put(b"bytes"))
        [file] = await inboxes.lay_out("k", "job_1", [sent])
        state.jobs["job_1"] = msgspec.structs.replace(job_with(""), attachments=(sent,))
        tidying = Tidying(
            (tmp_path,), disk=REAL_DISK, offload=at_once, forget_logs=lambda: forgotten.append("the old logs")
        )
        task = asyncio.ensure_future(tidying.keep_tidy(state, Durable(), blobs, inboxes))
        await asyncio.sleep(TIDY_SECONDS + 1)
        assert forgotten == ["the old logs"]
        assert Path(file.path).exists(), "its job is known"
        del state.jobs["job_1"]
        await asyncio.sleep(TIDY_SECONDS)
        assert not Path(file.path).exists()
        task.cancel()

    run_virtually(story())


def test_a_temporary_file_that_is_being_written_stays():
    disk = disk_with(b"")
    tidying = Tidying((STATE,), disk=disk, offload=at_once)

    def chunks():
        yield b"the first half, "
        tidying.remove_leftovers()
        yield b"and the second"

    replace_durably_with(STATE / "file", chunks(), disk=disk)
    assert disk.read(STATE / "file") == b"the first half, and the second"
    assert Path("file").name in disk.listdir(STATE)
