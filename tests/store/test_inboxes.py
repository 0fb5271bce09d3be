"""The inbox of a session: its own files, as copies, and nobody else's."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import InputFile
from fairlead.core.inbound import Attachment
from fairlead.core.state import Job, State
from fairlead.errors import Code, FairleadError
from fairlead.store.blobs import FileBlobs
from fairlead.store.inboxes import FileInboxes, inbox_name
from tests.store.harness import TroubledDisk

pytestmark = [pytest.mark.anyio, pytest.mark.req("E8", "C3")]

ALICE, BOB = "agent:fairlead:user:alice", "agent:fairlead:user:bob"
JOB = "job_20260105_0001"
HERE = ConversationRef("http", "local", "me")


class StateDirectory:
    """Blobs and inboxes side by side."""

    def __init__(self, directory: Path) -> None:
        self.disk = TroubledDisk()
        self.blobs = FileBlobs(directory, disk=self.disk, offload=asyncio.to_thread)
        self.inboxes = FileInboxes(directory, self.blobs, disk=self.disk, offload=asyncio.to_thread)

    async def attach(self, name: str, data: bytes = b"bytes", media_type: str = "image/png") -> Attachment:
        return Attachment(name=name, media_type=media_type, size=len(data), blob=await self.blobs.put(data))


@pytest.fixture
def state_dir(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path)


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_two_sessions_never_share_an_inbox(one: str, other: str):
    assert (inbox_name(one) == inbox_name(other)) == (one == other)


async def test_files_stand_in_the_sessions_own_directory_under_names_of_their_own(
    state_dir: StateDirectory, tmp_path: Path
):
    twice = [await state_dir.attach("../a cat", data) for data in (b"one", b"two")]
    refused = Attachment(name="refused.png", url="http://127.0.0.1/refused.png")
    text = await state_dir.attach("message.txt", b"three", "text/plain; charset=utf-8")

    files = await state_dir.inboxes.lay_out(ALICE, JOB, [*twice, refused, text])
    inbox = tmp_path / "inbox" / inbox_name(ALICE)
    assert files == (
        InputFile(str(inbox / f"{JOB}-1-a_cat.png"), "a cat", "image/png"),
        InputFile(str(inbox / f"{JOB}-2-a_cat.png"), "a cat", "image/png"),
        InputFile(str(inbox / f"{JOB}-4-message.txt"), "message.txt", "text/plain"),
    )
    assert [Path(file.path).read_bytes() for file in files] == [b"one", b"two", b"three"]
    assert {path.stat().st_mode & 0o777 for path in inbox.iterdir()} == {0o600}
    assert inbox.stat().st_mode & 0o777 == 0o700
    assert inbox.parent.stat().st_mode & 0o777 == 0o700


async def test_what_an_agent_does_to_its_copy_changes_no_blob_and_nobody_elses_copy(state_dir: StateDirectory):
    picture = await state_dir.attach("cat.png", b"cat")
    [hers] = await state_dir.inboxes.lay_out(ALICE, JOB, [picture])
    [his] = await state_dir.inboxes.lay_out(BOB, "job_20260105_0002", [picture])
    Path(hers.path).write_bytes(b"no longer a cat")
    assert await state_dir.blobs.get(picture.blob) == b"cat"
    assert Path(his.path).read_bytes() == b"cat"
    assert Path(his.path).parent != Path(hers.path).parent


async def test_a_file_is_made_again_for_every_turn_whatever_stands_in_its_place(
    state_dir: StateDirectory, tmp_path: Path
):
    picture = await state_dir.attach("cat.png", b"cat")
    [first] = await state_dir.inboxes.lay_out(ALICE, JOB, [picture])
    precious = tmp_path / "precious"
    precious.write_bytes(b"not ours to overwrite")
    Path(first.path).unlink()
    Path(first.path).symlink_to(precious)
    [again] = await state_dir.inboxes.lay_out(ALICE, JOB, [picture])
    assert again == first
    assert not Path(again.path).is_symlink()
    assert Path(again.path).read_bytes() == b"cat"
    assert precious.read_bytes() == b"not ours to overwrite"


@pytest.mark.req("A18")
async def test_a_file_that_is_no_longer_kept_says_so(state_dir: StateDirectory, tmp_path: Path):
    (tmp_path / "elsewhere").write_bytes(b"no file of an inbox")
    gone = [
        Attachment(name="a.png", blob="0" * 64),
        Attachment(name="b.txt", path=str(tmp_path / "inbox" / "old-1234" / f"{JOB}-1-b.txt")),
        Attachment(name="c.txt", path=str(tmp_path / "elsewhere")),
    ]
    for attachment in gone:
        with pytest.raises(FairleadError) as caught:
            await state_dir.inboxes.lay_out(ALICE, JOB, [attachment])
        assert caught.value.code is Code.E_ATTACHMENT_GONE


@pytest.mark.req("A18")
async def test_a_full_disk_is_told_as_such_and_leaves_no_half_of_a_file(state_dir: StateDirectory, tmp_path: Path):
    picture = await state_dir.attach("cat.png", b"a whole cat")
    state_dir.disk.room = 4
    with pytest.raises(FairleadError) as caught:
        await state_dir.inboxes.lay_out(ALICE, JOB, [picture])
    assert caught.value.code is Code.E_DISK_FULL
    assert list((tmp_path / "inbox" / inbox_name(ALICE)).iterdir()) == []


def a_job(job_id: str, session_key: str, *attachments: Attachment) -> Job:
    return Job(
        job_id=job_id, session_key=session_key, session_id="", conversation=HERE, message_id="1", person="1",
        state="success", prompt="", enqueued_at="2026-01-05T08:00:00.000Z", attachments=attachments,
    )  # fmt: skip


async def test_a_file_stays_as_long_as_its_job_is_known_and_an_inbox_as_long_as_it_has_a_file(
    state_dir: StateDirectory, tmp_path: Path
):
    picture = await state_dir.attach("cat.png")
    [kept] = await state_dir.inboxes.lay_out(ALICE, "job_20260105_0002", [picture])
    [old] = await state_dir.inboxes.lay_out(ALICE, "job_20260105_0001", [picture])
    [bobs] = await state_dir.inboxes.lay_out(BOB, "job_20260105_0003", [picture])
    made_by_the_agent = Path(kept.path).parent / "unpacked"
    made_by_the_agent.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"")
    (Path(bobs.path).parent / "link").symlink_to(outside)

    state = State()
    state.jobs["job_20260105_0002"] = a_job("job_20260105_0002", ALICE, picture)
    state.jobs["job_20260105_0004"] = a_job("job_20260105_0004", BOB, Attachment(name="refused", url="http://x"))
    state_dir.inboxes.forget_unneeded(state)

    assert Path(kept.path).exists()
    assert made_by_the_agent.exists()
    assert not Path(old.path).exists()
    assert not Path(bobs.path).parent.exists()
    assert (outside / "file").exists()
    state_dir.inboxes.forget_unneeded(State())
    assert list((tmp_path / "inbox").iterdir()) == []


async def test_a_file_that_an_earlier_version_laid_down_still_reaches_the_agent(
    state_dir: StateDirectory, tmp_path: Path
):
    old = tmp_path / "inbox" / "agent-fairlead-user-alice-12345678"
    old.mkdir(parents=True)
    (old / f"{JOB}-1-notes.txt").write_bytes(b"old words")
    (old / "job_20250101_0001-1-gone.txt").write_bytes(b"of a forgotten job")
    notes = Attachment(name="notes.txt", path=str(old / f"{JOB}-1-notes.txt"))
    state = State()
    state.jobs["job_20260105_0009"] = a_job("job_20260105_0009", ALICE, notes)
    state_dir.inboxes.forget_unneeded(state)
    assert [path.name for path in old.iterdir()] == [f"{JOB}-1-notes.txt"]
    [file] = await state_dir.inboxes.lay_out(ALICE, "job_20260105_0009", [notes])
    assert Path(file.path).parent == tmp_path / "inbox" / inbox_name(ALICE)
    assert Path(file.path).read_bytes() == b"old words"


async def test_an_inbox_that_cannot_be_tidied_keeps_nobody_from_starting(state_dir: StateDirectory, tmp_path: Path):
    picture = await state_dir.attach("cat.png")
    [kept] = await state_dir.inboxes.lay_out(ALICE, "job_20260105_0002", [picture])
    strange = Path(kept.path).with_name("job_20260105_0001-1-a-directory")
    strange.mkdir()
    os.mkfifo(tmp_path / "inbox" / "a-pipe-and-no-inbox")
    state = State()
    state.jobs["job_20260105_0002"] = a_job("job_20260105_0002", ALICE, picture)
    state_dir.inboxes.forget_unneeded(state)
    assert strange.exists()
    assert [path.name for path in (tmp_path / "inbox").iterdir()] == [inbox_name(ALICE)]


async def test_a_file_is_given_away_by_its_descriptor_and_not_by_a_name_that_an_agent_can_replace(tmp_path: Path):
    given: list[tuple[str, int]] = []

    def give(target: Path | int) -> None:
        kind = "descriptor" if isinstance(target, int) else "path"
        found = os.fstat(target) if isinstance(target, int) else target.stat()
        given.append((kind, found.st_ino))

    state = StateDirectory(tmp_path)
    inboxes = FileInboxes(tmp_path, state.blobs, disk=state.disk, offload=asyncio.to_thread, give=give)
    [file] = await inboxes.lay_out(ALICE, JOB, [await state.attach("cat.png")])
    path = Path(file.path)
    assert given == [("descriptor", path.stat().st_ino), ("path", path.parent.stat().st_ino)]


async def test_a_file_of_an_earlier_version_that_became_a_link_is_gone(state_dir: StateDirectory, tmp_path: Path):
    (tmp_path / "http-token").write_text("the token")
    inbox = tmp_path / "inbox" / inbox_name(ALICE)
    inbox.mkdir(parents=True)
    (inbox / "letter").symlink_to(tmp_path / "http-token")
    with pytest.raises(FairleadError) as gone:
        await state_dir.inboxes.lay_out(ALICE, JOB, [Attachment(name="letter", path=str(inbox / "letter"))])
    assert gone.value.code is Code.E_ATTACHMENT_GONE
