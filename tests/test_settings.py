"""Settings: every mistake at once, no secret repeated, and nothing needed at all."""

import os
from pathlib import Path

import pytest

from fairlead.core.days import Days
from fairlead.core.limits import Limits
from fairlead.errors import Code, FairleadError
from fairlead.kit.capacity import LEAST, MOST
from fairlead.settings import Settings, load_settings, setting_names
from fairlead.settings_checks import LEAST_HEARTBEAT_TIMEOUT_SEC
from fairlead.settings_values import rules_of

pytestmark = pytest.mark.req("A17")

TOKEN = "MTIzNDU2.token.very-secret"


@pytest.fixture(autouse=True)
def empty_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, (aliases, _, _) in setting_names().items():
        for each in (name, *aliases.split(", ")):
            monkeypatch.delenv(each, raising=False)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "FAIRLEAD_ENV_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings_file(home: Path) -> Path:
    path = home / ".config" / "fairlead" / ".env"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def mistakes() -> FairleadError:
    with pytest.raises(FairleadError) as caught:
        load_settings()
    assert caught.value.code is Code.E_CONFIG
    return caught.value


@pytest.mark.req("A17")
def test_nothing_needs_to_be_set(tmp_path: Path):
    settings = load_settings()
    assert settings.state_dir == tmp_path / ".local/state/fairlead/state"
    assert settings.log_dir == tmp_path / ".local/state/fairlead/logs"
    assert settings.discord_token is None
    assert settings.limits(("echo",)) == Limits(
        own_variables=("DISCORD_", "FAIRLEAD_"),
        max_queue_per_session=20,
        global_max_running=settings.global_max_running,
        max_result_excerpt_chars=400,
        question_timeout_sec=600,
        days=Days(None),
        worktrees=str(settings.worktrees_path),
    )
    assert LEAST <= settings.global_max_running <= MOST
    assert (settings.cli_timeout_sec, settings.drain_sec) == (900, 30)
    assert (settings.snapshot_every_events, settings.snapshot_every_seconds) == (50, 5)
    assert settings.http_host == "127.0.0.1"


@pytest.mark.req("A17")
def test_the_pool_has_a_process_for_every_job_that_may_run_unless_somebody_wants_a_smaller_one(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("FAIRLEAD_GLOBAL_MAX_RUNNING", "20")
    assert load_settings().pool_size() == 20
    monkeypatch.setenv("FAIRLEAD_MULTI_TURN_MAX_PROCESSES", "3")
    assert load_settings().pool_size() == 3


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    settings_file(tmp_path).write_text('FAIRLEAD_LANG=ja\nFAIRLEAD_DRAIN_SEC=5\nPROJECTS=["/srv/a"]\nUNRELATED=1\n')
    monkeypatch.setenv("FAIRLEAD_DRAIN_SEC", "7")
    settings = load_settings()
    assert (settings.lang, settings.drain_sec, settings.projects) == ("ja", 7, ("/srv/a",))


@pytest.mark.parametrize("too_low", ["0", "-1", "30", "41.25", "44.9", "nan"])
def test_a_heartbeat_timeout_that_would_end_healthy_connections_is_refused(
    monkeypatch: pytest.MonkeyPatch, too_low: str
):
    monkeypatch.setenv("DISCORD_HEARTBEAT_TIMEOUT_SEC", too_low)
    refused = mistakes().message
    assert "DISCORD_HEARTBEAT_TIMEOUT_SEC" in refused
    assert f"must be at least {LEAST_HEARTBEAT_TIMEOUT_SEC:g}: Discord's heartbeat comes every 41 s" in refused


def test_a_heartbeat_timeout_of_any_length_is_fine_where_another_gateway_beats(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_HEARTBEAT_TIMEOUT_SEC", "45")
    assert load_settings().discord_heartbeat_timeout_sec == 45
    monkeypatch.setenv("DISCORD_GATEWAY_URL", "ws://127.0.0.1:1/")
    monkeypatch.setenv("DISCORD_HEARTBEAT_TIMEOUT_SEC", "1")
    assert load_settings().discord_heartbeat_timeout_sec == 1


def test_a_setting_that_is_left_empty_is_not_set(tmp_path: Path):
    settings_file(tmp_path).write_text(
        "DISCORD_TOKEN=\nDISCORD_OWNER_ID=\nFAIRLEAD_HTTP_PORT=\nPROJECTS=\nSTATE_DIR=\n"
    )
    settings = load_settings()
    assert settings.discord_token is None
    assert settings.http_port == 8466
    assert settings.projects == ()


@pytest.mark.parametrize(
    ("name", "alias"), [("DISCORD_TOKEN", "DISCORD_BOT_TOKEN"), ("DISCORD_OWNER_ID", "DISCORD_ALLOWED_USER_ID")]
)
def test_the_other_names_work_too(name: str, alias: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_OWNER_ID", "42")
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(alias, "4242")
    settings = load_settings()
    token = settings.discord_token.reveal() if settings.discord_token else ""
    assert "4242" in {settings.discord_owner_id, token}


@pytest.mark.req("B14")
def test_every_mistake_is_told_at_once_and_no_value_is_repeated(monkeypatch: pytest.MonkeyPatch):
    wrong = {
        "FAIRLEAD_GLOBAL_MAX_RUNNING": "0",
        "FAIRLEAD_CLI_TIMEOUT_SEC": TOKEN,
        "FAIRLEAD_LANG": TOKEN,
        "FAIRLEAD_HTTP_PORT": "99999",
        "FAIRLEAD_AGENT_ID": "a:b",
        "PROJECTS": f"[{TOKEN}",
        "FAIRLEAD_IDENTITIES": '{"1": ["nonsense"]}',
        "FAIRLEAD_HTTP": "perhaps",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    told = mistakes()
    assert [name for name in wrong if name not in told.message] == []
    assert TOKEN not in str(told)
    assert ".env.example" in told.next_step


def test_a_token_without_an_owner_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_TOKEN", TOKEN)
    told = mistakes()
    assert "DISCORD_OWNER_ID" in told.message
    assert TOKEN not in told.message


@pytest.mark.parametrize("name", ["DISCORD_GUILD_ID", "DISCORD_APP_ID"])
def test_a_name_where_discord_has_numbers_is_refused(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "harbour")
    assert f"{name}: must be a Discord id" in mistakes().message


def test_an_owner_who_is_no_discord_user_is_refused_before_nobody_is_obeyed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_TOKEN", "t")
    monkeypatch.setenv("DISCORD_OWNER_ID", "alice")
    assert "DISCORD_OWNER_ID must be a Discord user id" in mistakes().message


@pytest.mark.req("B14")
def test_the_token_does_not_show_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_TOKEN", TOKEN)
    monkeypatch.setenv("DISCORD_OWNER_ID", "42")
    settings = load_settings()
    assert TOKEN not in repr(settings)
    assert settings.secrets() == [TOKEN]


def test_a_tilde_and_a_relative_path_mean_what_people_expect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("STATE_DIR", "~/my state")
    monkeypatch.setenv("LOG_DIR", "logs")
    settings = load_settings()
    assert settings.state_dir == tmp_path / "my state"
    assert settings.log_dir == tmp_path / "logs"


@pytest.mark.req("B2")
@pytest.mark.parametrize("value", ["/srv/api", '"/srv/api"', '{"a": 1}', "[1]", '["srv/api"]'])
def test_projects_are_a_list_of_absolute_paths(value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROJECTS", value)
    assert "PROJECTS" in mistakes().message


@pytest.mark.req("B4")
@pytest.mark.parametrize("value", ["goose acp", '"goose"', '{"a": 1}', "[1]", '[""]', '["  ", "acp"]', '["a\\u0000b"]'])
def test_agent_command_is_a_list_that_begins_with_a_program(value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENT_COMMAND", value)
    assert "AGENT_COMMAND" in mistakes().message


@pytest.mark.req("B4", "B6")
def test_agent_command_and_the_watchdog_of_agents(monkeypatch: pytest.MonkeyPatch):
    assert (load_settings().agent_command, load_settings().agent_watchdog_sec) == ((), 1800)
    monkeypatch.setenv("AGENT_COMMAND", '["goose", "acp", ""]')
    assert load_settings().agent_command == ("goose", "acp", "")


@pytest.mark.req("A13")
def test_allowed_people_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAIRLEAD_ALLOWED_USER_IDS", "1, 2,,3 ")
    assert load_settings().allowed_user_ids == ("1", "2", "3")


@pytest.mark.req("C2")
def test_identities_are_checked_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAIRLEAD_IDENTITIES", '{"1": ["http:alice"], "2": ["http:alice"]}')
    assert "claimed by '1' and '2'" in mistakes().message
    monkeypatch.setenv("FAIRLEAD_IDENTITIES", '{"1": ["http:alice"]}')
    assert load_settings().identities == {"1": ("http:alice",)}


@pytest.mark.req("A21")
def test_every_setting_has_a_name_a_default_and_a_sentence():
    names = setting_names()
    assert len(names) == len(rules_of(Settings))
    for name, (_, _, description) in names.items():
        assert name.isupper()
        assert description.endswith((".", "…", "}.")), name
    assert names["FAIRLEAD_HTTP"][1] == "1"
    assert names["STATE_DIR"][1] == "~/.local/state/fairlead/state"


@pytest.mark.req("A13", "C2")
def test_an_owner_whom_a_link_calls_by_another_name_is_still_the_owner(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_OWNER_ID", "42")
    monkeypatch.setenv("FAIRLEAD_ALLOWED_USER_IDS", "7,8")
    monkeypatch.setenv("FAIRLEAD_IDENTITIES", '{"alice": ["discord:42"], "bob": ["discord:7"]}')
    settings = load_settings()
    assert settings.person_with("42") == "alice"
    assert settings.people().person_of("terminal", "local") == "alice"
    assert settings.limits(("echo",)).allowed_people == ("bob", "8")


@pytest.mark.req("B14")
def test_a_named_pipe_in_the_place_of_the_file_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "fairlead").mkdir()
    os.mkfifo(tmp_path / "fairlead" / ".env")
    with pytest.raises(FairleadError, match="not a regular file") as caught:
        load_settings()
    assert caught.value.code == Code.E_CONFIG


def test_names_in_small_letters_are_read_too_and_capitals_win(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("fairlead_lang", "ja")
    monkeypatch.setenv("fairlead_user", "small")
    monkeypatch.setenv("FAIRLEAD_USER", "capital")
    settings = load_settings()
    assert (settings.lang, settings.terminal_user, settings.given) == ("ja", "capital", {"lang", "terminal_user"})


def test_an_alias_in_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    settings_file(tmp_path).write_text("DISCORD_OWNER_ID=1\n")
    monkeypatch.setenv("DISCORD_ALLOWED_USER_ID", "2")
    assert load_settings().discord_owner_id == "2"


def test_an_empty_override_hides_what_is_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCORD_TOKEN", TOKEN)
    assert load_settings(DISCORD_TOKEN="").discord_token is None
