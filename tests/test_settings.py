"""Settings: every mistake at once, by name, and no secret in any sentence."""

from pathlib import Path

import pytest

from fairlead.errors import Code, FairleadError
from fairlead.settings import load_settings, setting_names


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in setting_names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_every_mistake_is_named_at_once_and_the_token_is_not(monkeypatch: pytest.MonkeyPatch):
    wrong = {
        "FAIRLEAD_HTTP_PORT": "99999",
        "PROJECTS": "no json",
        "CLAUDE_ADD_DIRS": "[",
        "FAIRLEAD_IDENTITIES": "{",
        "FAIRLEAD_LANG": "xx",
        "DISCORD_TOKEN": "very-secret-token",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(FairleadError) as caught:
        load_settings()
    sentence = caught.value.full_sentence()
    assert caught.value.code == Code.E_CONFIG
    assert [name for name in wrong if f"\n  {name}: " not in sentence] == []
    assert "DISCORD_OWNER_ID is needed" in sentence
    assert "very-secret-token" not in sentence
    assert sentence.splitlines()[-1].startswith("Correct them")


def test_a_name_without_a_value_means_nothing_was_set(tmp_path: Path):
    (tmp_path / ".env").write_text("PROJECTS=\nFAIRLEAD_IDENTITIES=\nCLAUDE_ADD_DIRS=\nDISCORD_TOKEN=\n")
    assert load_settings() == load_settings(_env_file=None)


def test_a_tilde_in_env_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".env").write_text("STATE_DIR=~/here\n")
    assert load_settings().state_dir == tmp_path / "here"


@pytest.mark.parametrize(
    ("message", "shown"),
    [("boom", "E_AGENT_ERROR: boom. Do this."), ("Boom!", "E_AGENT_ERROR: Boom! Do this.")],
)
def test_words_of_others_get_their_full_stop(message: str, shown: str):
    assert FairleadError(Code.E_AGENT_ERROR, message, next_step="Do this.").full_sentence() == shown
