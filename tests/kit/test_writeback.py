"""The hint to begin with writing: it does no harm, and a disk that fails then is told of."""

import errno
from pathlib import Path

import pytest

from fairlead.kit import writeback
from fairlead.kit.files import REAL_DISK
from fairlead.kit.writeback import begin_writeback


def test_a_hint_changes_no_byte_and_a_sync_follows_it(tmp_path: Path):
    handle = REAL_DISK.open_append(tmp_path / "file")
    for part in (b"one", b"", b"two"):
        REAL_DISK.write(handle, part)
        REAL_DISK.begin_writing(handle)
    REAL_DISK.sync(handle)
    REAL_DISK.close(handle)
    assert (tmp_path / "file").read_bytes() == b"onetwo"


def test_what_cannot_be_told_is_left_alone():
    begin_writeback(1 << 20)  # no open file


def test_a_disk_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writeback, "_sync_file_range", lambda: lambda _fd: errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        begin_writeback(1)
