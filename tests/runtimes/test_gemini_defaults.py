"""Gemini's defaults are named only where Gemini takes them: elsewhere it would warn about them at every start."""

import os
from pathlib import Path

import pytest

from fairlead.runtimes.gemini_defaults import is_taken_by_gemini

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to root")


@needs_root
def test_a_file_that_only_root_may_write_is_taken() -> None:
    assert is_taken_by_gemini(Path("/etc/passwd"))


def test_a_file_below_a_directory_that_everybody_may_write_is_not(tmp_path: Path) -> None:
    file = tmp_path / "defaults.json"
    file.write_text("{}")
    tmp_path.chmod(0o777)
    assert not is_taken_by_gemini(file)


@needs_root
def test_a_file_of_another_user_is_not(tmp_path: Path) -> None:
    file = tmp_path / "defaults.json"
    file.write_text("{}")
    os.chown(file, 12345, 12345)
    assert not is_taken_by_gemini(file)
