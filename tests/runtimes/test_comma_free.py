"""Paths with a comma, which codex and gemini would take apart."""

import tempfile
from pathlib import Path

import pytest

from fairlead.core.engine import InputFile
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.comma_free import comma_free_files
from tests.runtimes.harness import Cast, ReplayStage
from tests.runtimes.outcomes import failure_in
from tests.support.runtime_contract import closing, invocation, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("E8")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[InputFile, ...]:
    inbox = tmp_path / "state, mine" / "inbox" / "session"
    inbox.mkdir(parents=True)
    paths = [inbox / "cat.png", inbox / "notes.txt"]
    for path in paths:
        path.write_bytes(path.name.encode())
    return tuple(InputFile(str(path), path.name) for path in paths)


async def test_paths_without_a_comma_are_left_alone(tmp_path: Path):
    given = (InputFile(str(tmp_path / "cat.png"), "cat.png"),)
    async with comma_free_files(given, "codex") as same:
        assert same == given


async def test_copies_stand_in_a_private_directory_for_as_long_as_they_are_needed(files: tuple[InputFile, ...]):
    async with comma_free_files(files, "codex") as copies:
        paths = [Path(copy.path) for copy in copies]
        assert [path.read_bytes() for path in paths] == [b"cat.png", b"notes.txt"]
        assert [path.suffix for path in paths] == [".png", ".txt"]
        assert [copy.name for copy in copies] == ["cat.png", "notes.txt"]
        assert not any("," in copy.path for copy in copies)
        assert paths[0].parent.stat().st_mode & 0o777 == 0o700
        assert not any(path.is_symlink() for path in paths)
    assert not paths[0].parent.exists()


async def test_where_no_place_is_without_a_comma_the_settings_are_named(
    files: tuple[InputFile, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "tmp, too").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp, too"))
    with pytest.raises(FairleadError) as refused:
        async with comma_free_files(files, "codex"):
            pass
    assert refused.value.code is Code.E_CONFIG
    assert f"STATE_DIR ({Path(files[0].path).parent})" in refused.value.message
    assert f"TMPDIR ({tmp_path / 'tmp, too'})" in refused.value.message


@pytest.mark.parametrize("cast", ["codex", "gemini"])
async def test_no_path_with_a_comma_reaches_the_command_line(
    cast: Cast, files: tuple[InputFile, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stage = ReplayStage(cast, tmp_path)
    async with closing(stage.runtime("answers")) as runtime:
        await run(runtime, invocation(tmp_path, "look", files=files))
        [ran] = stage.runs()
        assert not [word for word in ran["argv"] if "," in word]
        assert [word for word in ran["argv"] if "fairlead-files-" in word]
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "state, mine"))
        refused = failure_in(await run(runtime, invocation(tmp_path, "look", files=files)))
    assert refused.code is Code.E_CONFIG
    assert len(stage.runs()) == 1
