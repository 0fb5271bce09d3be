"""The reference and .env.example say what the code says."""

import re
from pathlib import Path

import generate
import msgspec
import pytest

from fairlead.channels.http.routes import endpoints
from fairlead.channels.terminal.commands import CommandLine
from fairlead.cli import main as cli
from fairlead.core.commands import COMMANDS
from fairlead.core.events import EVENT_TYPES
from fairlead.errors import CODES
from fairlead.render.words import error_next_step, error_what
from fairlead.settings import read_settings, setting_names

ROOT = Path(__file__).parents[2]

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
ENV_EXAMPLE = (ROOT / ".env.example").read_text()


def test_what_is_made_from_the_code_is_up_to_date():
    assert generate.stale() == [], "run .venv/bin/python docs/generate.py"


@pytest.mark.parametrize("name", setting_names())
def test_every_setting_is_explained_in_the_reference_and_in_the_example(name: str):
    aliases, default, words = setting_names()[name]
    assert words
    assert f"`{name}`" in REFERENCE
    assert f"\n#{name}={default}\n" in ENV_EXAMPLE
    assert all(f"`{alias}`" in REFERENCE for alias in aliases.split(", ") if alias)


@pytest.mark.req("A21")
def test_the_example_with_every_line_turned_on_gives_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in setting_names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    plain = read_settings(None)
    turned_on = tmp_path / "env"
    turned_on.write_text(re.sub(r"(?m)^#([A-Z_]+=)(?=.)", r"\1", ENV_EXAMPLE))
    assert read_settings(turned_on) == plain
    assert len(re.findall(r"(?m)^[A-Z_]+=", turned_on.read_text())) > 10


@pytest.mark.req("A18")
@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_in_the_reference_with_what_to_do(code: str):
    rows = [line for line in REFERENCE.splitlines() if line.startswith(f"| `{code}` |")]
    assert len(rows) == 1
    assert error_what("en", code).replace("|", "\\|") in rows[0]
    assert error_next_step("en", code).replace("|", "\\|") in rows[0]


def test_every_command_of_the_command_line_is_in_the_reference():
    for path, command in generate.walk(cli.main, "fairlead"):
        assert f"\n### {path}\n" in REFERENCE
        for option in (o for o in command.params if not getattr(o, "hidden", False)):
            assert all(name in REFERENCE for name in option.opts if name.startswith("--"))


def test_every_command_of_a_chat_is_in_the_reference():
    assert [name for name in CommandLine().names if f"| `{name}" not in REFERENCE] == []


def test_every_request_that_people_can_make_has_a_slash_command_in_the_reference():
    offered = COMMANDS.specs_for("menu")
    assert [spec.words for spec in offered if f"| `/{spec.words}` |" not in REFERENCE] == []
    for_people = {spec.request for spec in COMMANDS.specs if spec.ways}
    assert {spec.request for spec in offered} == for_people


def test_every_route_and_what_it_takes_is_in_the_reference():
    for endpoint in endpoints(COMMANDS):
        rows = [line for line in REFERENCE.splitlines() if line.startswith(f"| `{endpoint.method} {endpoint.path}` |")]
        assert len(rows) == 1
        fields = msgspec.structs.fields(endpoint.body) if endpoint.body else ()
        assert all(re.search(rf"`{field.name}\??`", rows[0]) for field in fields)


def test_every_exit_code_is_in_the_reference():
    used = {value for name, value in vars(cli).items() if name.startswith("EXIT_")}
    assert used < set(generate.EXIT_CODES)
    assert [code for code in generate.EXIT_CODES if f"\n| {code} | " not in REFERENCE] == []


def test_every_journal_event_is_in_the_reference():
    assert [t.__name__ for t in EVENT_TYPES if f"| `{t.__name__}` |" not in REFERENCE] == []


def test_the_check_notices_a_stale_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old = tmp_path / "env"
    old.write_text(ENV_EXAMPLE.replace("FAIRLEAD_HTTP_PORT=8466", "FAIRLEAD_HTTP_PORT=80"))
    monkeypatch.setattr(generate, "ENV_EXAMPLE", old)
    monkeypatch.setattr(generate, "ROOT", tmp_path.parent)
    monkeypatch.setattr(generate, "REFERENCE", tmp_path / "reference.md")
    (tmp_path / "reference.md").write_text(REFERENCE)
    assert generate.stale() == [f"{tmp_path.name}/env"]
