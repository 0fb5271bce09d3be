"""Which settings file is read."""

from pathlib import Path

import pytest

from fairlead.settings_file import find_settings_file, find_strange_settings


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("XDG_CONFIG_HOME", "FAIRLEAD_ENV_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str = "FAIRLEAD_LANG=ja\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def make_checkout(directory: Path) -> Path:
    write(directory / "pyproject.toml", "")
    write(directory / "src" / "fairlead" / "__init__.py", "")
    return directory


def test_the_file_in_the_configuration_directory_is_the_usual_one(home: Path):
    usual = home / ".config/fairlead/.env"
    assert find_settings_file() == (usual, "usual")
    write(home / ".env")
    assert find_settings_file() == (usual, "usual"), "a file that happens to lie here is not read"


def test_a_checkout_with_a_file_of_its_own_is_still_found_until_there_is_a_usual_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    old = write(make_checkout(home / "fairlead") / ".env")
    monkeypatch.chdir(old.parent)
    assert find_settings_file() == (old, "checkout")
    usual = write(home / ".config/fairlead/.env")
    assert find_settings_file() == (usual, "usual")
    [told] = find_strange_settings(find_settings_file(), ["FAIRLEAD_LANG"])
    assert told == f"{old} has Fairlead settings but is not read. Move it to {usual}, or use --env-file."


def test_a_file_that_is_named_wins(home: Path, monkeypatch: pytest.MonkeyPatch):
    write(home / ".config/fairlead/.env")
    named = write(home / "mine.env")
    monkeypatch.setenv("FAIRLEAD_ENV_FILE", "~/mine.env")
    assert find_settings_file() == (named, "named")


def test_what_the_builds_and_the_tests_read_from_the_environment_is_not_strange(monkeypatch: pytest.MonkeyPatch):
    for name in ("FAIRLEAD_PROJECT_URL", "FAIRLEAD_PROJECT_FORGE", "FAIRLEAD_DISCORD_OPENAPI"):
        monkeypatch.setenv(name, "anything")
    assert find_strange_settings(find_settings_file(), ["FAIRLEAD_LANG"]) == []
