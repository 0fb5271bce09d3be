"""Archives of strangers: what is in them lands inside, or not at all."""

import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install import archives
from fairlead.runtimes.install.archives import unpack

pytestmark = pytest.mark.req("B4")


def tar_entry(name: str, content: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, io.BytesIO]:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for key, value in more.items():
        setattr(entry, key, value)
    return entry, io.BytesIO(content)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, io.BytesIO]:
    return tar_entry(name, type=kind, linkname=target)


def write_tar(path: Path, *entries: tuple[tarfile.TarInfo, io.BytesIO], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:
        for entry, content in entries:
            tar.addfile(entry, content)
    return path


def write_zip(path: Path, *entries: tuple[str, int, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as zipped:
        for name, mode, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            zipped.writestr(info, content)
    return path


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def refused(archive: Path, target: Path, name: str = "") -> str:
    with pytest.raises(FairleadError) as caught:
        unpack(archive, name or archive.name, target)
    assert caught.value.code is Code.E_AGENT_INSTALL
    assert (target.parent / "secret").read_text() == "secret"
    assert {path.name for path in target.parent.iterdir()} <= {"in", "secret", archive.name}
    return caught.value.message


@pytest.mark.parametrize(
    ("ending", "mode"), [("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")]
)
def test_a_tar_is_unpacked_with_its_programs_and_links(tmp_path: Path, target: Path, ending: str, mode: str):
    entries = [
        tar_entry("./", type=tarfile.DIRTYPE),
        tar_entry("bin/agent", b"run", mode=0o755),
        tar_entry("doc.txt", b"words", mode=0o666),
        link("agent", "bin/agent"),
        link("bin/same", "bin/agent", tarfile.LNKTYPE),
        link("bin/up", "../doc.txt"),
    ]
    unpack(write_tar(tmp_path / f"a.{ending}", *entries, mode=mode), f"a.{ending}", target)
    assert tree(target) == {
        "agent": "-> bin/agent",
        "bin/agent": "run",
        "bin/same": "run",
        "bin/up": "-> ../doc.txt",
        "doc.txt": "words",
    }
    assert stat.S_IMODE((target / "bin/agent").stat().st_mode) == 0o700
    assert stat.S_IMODE((target / "doc.txt").stat().st_mode) == 0o600


def test_a_zip_is_unpacked_with_its_programs_and_links(tmp_path: Path, target: Path):
    entries = [("bin/", 0o40755, b""), ("bin/agent", 0o100755, b"run"), ("agent", 0o120777, b"bin/agent")]
    unpack(write_zip(tmp_path / "a.zip", *entries), "A.ZIP", target)
    assert tree(target) == {"agent": "-> bin/agent", "bin/agent": "run"}
    assert os.access(target / "bin/agent", os.X_OK)


def test_a_file_that_is_no_archive_is_the_program_itself(tmp_path: Path, target: Path):
    (tmp_path / "agent-linux").write_text("run")
    unpack(tmp_path / "agent-linux", "agent-linux", target)
    assert tree(target) == {"agent-linux": "run"}


@pytest.mark.parametrize(
    "entries",
    [
        [tar_entry("/secret", b"x")],
        [tar_entry("../secret", b"x")],
        [tar_entry("a/../../secret", b"x")],
        [tar_entry("a\\..\\..\\secret", b"x")],
        [link("out", "/etc")],
        [link("out", "../secret")],
        [link("a/out", "../../secret")],
        [tar_entry("a/b/c/x"), link("a/b/c/l", "../../.."), link("m", "a/b/c/l/../secret")],
        [link("out", ".."), tar_entry("out/secret", b"x")],
        [link("hard", "../secret", tarfile.LNKTYPE)],
        [link("hard", "/etc/passwd", tarfile.LNKTYPE)],
        [tar_entry("pipe", type=tarfile.FIFOTYPE)],
        [tar_entry("device", type=tarfile.CHRTYPE)],
        [tar_entry("twice", b"1"), tar_entry("twice", b"2")],
    ],
    ids=lambda entries: entries[-1][0].name,
)
def test_nothing_of_a_hostile_tar_lands_outside(tmp_path: Path, target: Path, entries):
    assert "evil.tgz" in refused(write_tar(tmp_path / "evil.tgz", *entries), target)


@pytest.mark.parametrize(
    "entry", [("../secret", 0o100644, b"x"), ("/secret", 0o100644, b"x"), ("out", 0o120777, b"../secret")]
)
def test_nothing_of_a_hostile_zip_lands_outside(tmp_path: Path, target: Path, entry: tuple[str, int, bytes]):
    refused(write_zip(tmp_path / "evil.zip", entry), target)


def test_an_archive_that_would_fill_the_disk_is_stopped(tmp_path: Path, target: Path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    monkeypatch.setattr(archives, "MOST_ENTRIES", 3)
    assert "GiB" in refused(write_tar(tmp_path / "bomb.tgz", tar_entry("zeros", bytes(1001))), target)
    many = [tar_entry(f"{number}") for number in range(4)]
    assert "more than 3 files" in refused(write_tar(tmp_path / "bomb.tgz", *many), target)


@pytest.mark.parametrize("name", ["a.tgz", "a.zip", "a.tar.xz"])
def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path, target: Path, name: str):
    (tmp_path / "cut").write_bytes(b"\x1f\x8b" + bytes(20))
    assert "cannot be unpacked" in refused(tmp_path / "cut", target, name)
