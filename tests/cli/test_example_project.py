"""The example project: made once, and left to the person after that."""

from pathlib import Path

import pytest

from fairlead.cli.example_project import make_example
from fairlead.errors import FairleadError


def test_it_is_made_in_the_data_directory_and_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    directory = make_example()
    assert directory == tmp_path / ".local/share/fairlead/example"
    assert sorted(p.name for p in directory.iterdir()) == ["README.md", "shopping.py"]
    (directory / "README.md").write_text("mine")
    assert (make_example() / "README.md").read_text() == "mine"


def test_a_directory_that_cannot_be_made_is_an_error_with_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(FairleadError, match="The example project cannot be created"):
        make_example()
