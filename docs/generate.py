"""Writes what can be read off the code into docs/reference.md, docs/concepts.md and .env.example. `--check` only says
what is stale.

Tables stand between `<!-- begin NAME -->` and `<!-- end NAME -->`; everything else in the reference is written by hand.
Of the concepts, the drawing of a job's states is made: `job_states` draws it.
"""  # noqa: INP001 - a script, not a package

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click
from click.testing import CliRunner
from job_states import CONCEPTS, with_diagram

from fairlead import settings
from fairlead.channels.http.errors import status_of
from fairlead.channels.http.routes import endpoints
from fairlead.channels.terminal.commands import CommandLine
from fairlead.cli import exit_codes
from fairlead.cli import main as cli
from fairlead.core.command_spec import CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.events import EVENT_TYPES
from fairlead.errors import CODES, Kind
from fairlead.render.words import error_next_step, error_what, say

ROOT: Final = Path(__file__).parent.parent
REFERENCE: Final = ROOT / "docs" / "reference.md"
ENV_EXAMPLE: Final = ROOT / ".env.example"

WHOSE: Final[dict[Kind, str]] = {
    Kind.STRANGER: "the caller is not allowed",
    Kind.INPUT: "the request is not valid",
    Kind.STATE: "the request is valid, but not possible now or here",
    Kind.AGENT: "the agent, its process or its output",
    Kind.CHANNEL: "the connection to the person",
    Kind.INTERNAL: "Fairlead itself: disk, shutdown, a bug",
}

EXIT_CODES: Final[dict[int, str]] = {
    0: "Success. For `chat` with piped input: the job succeeded.",
    exit_codes.EXIT_FAILED: "Failure; the last line on standard error says why and what to do. Also a failed check.",
    2: "The command line is wrong.",
    exit_codes.EXIT_LOCKED: "Another process holds the state directory (`E_STATE_LOCKED`).",
    exit_codes.EXIT_CONFIG: "The settings are wrong (`E_CONFIG`) or the journal is broken (`E_JOURNAL_BROKEN`).",
}


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(word: str) -> str:
    return f"`{word}`" if word else ""


# --- settings


def setting_groups() -> dict[str, list[str]]:
    """The names of the settings under the headings that stand in the source."""
    groups: dict[str, list[str]] = {}
    heading = ""
    for line in inspect.getsource(settings.Settings).splitlines():
        if line.strip().startswith("# --- "):
            heading = line.strip().removeprefix("# --- ")
        for name in re.findall(r'\bname="([A-Z_]+)"', line):
            groups.setdefault(heading, []).append(name)
    return groups


def settings_tables() -> str:
    known = settings.setting_names()
    parts: list[str] = []
    for heading, names in setting_groups().items():
        rows: list[list[str]] = []
        for name in names:
            aliases, default, words = known[name]
            also = f" (also `{aliases}`)" if aliases else ""
            rows.append([f"{code(name)}{also}", code(default) or "empty", words])
        parts += [f"### {heading[0].upper()}{heading[1:]}", table(["name", "default", "meaning"], rows)]
    return "\n\n".join(parts)


def env_example() -> str:
    known = settings.setting_names()
    lines = [
        "# Every setting of Fairlead with its default. Copy this file to ~/.config/fairlead/.env, and take away the #",
        "# where you change one. The environment wins over the file. Keep it to yourself (chmod 600): it may hold your",
        "# bot's token.",
        "# Made by docs/generate.py.",
    ]
    for heading, names in setting_groups().items():
        lines += ["", f"# --- {heading} {'-' * (110 - len(heading))}"]
        for name in names:
            aliases, default, words = known[name]
            also = f" Also read as {aliases}." if aliases else ""
            lines += ["", *textwrap.wrap(f"{words}{also}", 116, initial_indent="# ", subsequent_indent="# ")]
            lines.append(f"#{name}={default}")
    return "\n".join(lines) + "\n"


# --- commands


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, f"{path} {name}")


def cli_help() -> str:
    parts: list[str] = []
    for path, _ in walk(cli.main, "fairlead"):
        words = [*path.split()[1:], "--help"]
        shown = CliRunner().invoke(cli.main, words, prog_name="fairlead", terminal_width=80).output
        parts += [f"### {path}", f"```text\n{shown.rstrip()}\n```"]
    return "\n\n".join(parts)


def chat_commands(commands: CommandCatalogue = COMMANDS) -> str:
    line = CommandLine(commands)
    rows = [[code(line.usage(name)), line.description(name)] for name in line.names]
    return table(["command", "what it does"], rows)


def slash_commands(commands: CommandCatalogue = COMMANDS) -> str:
    rows: list[list[str]] = []
    for spec in commands.specs_for("menu"):
        options = [a.option_name if a.required else f"{a.option_name}?" for a in spec.arguments_for("menu")]
        who = f" ({spec.who} only)" if spec.who == "the owner" else ""
        described = f"{say('en', f'command.{spec.key}')}{who}"
        rows.append([code(f"/{spec.words}"), described, ", ".join(map(code, options))])
    return table(["command", "what it does", "options"], rows)


# --- HTTP, errors, events


def http_routes(commands: CommandCatalogue = COMMANDS) -> str:
    served = endpoints(commands)
    rows = [[code(f"{e.method} {e.path}"), e.summary, _body(e.body), _body(e.query)] for e in served]
    rows.append([code("GET /openapi.json"), "This table in full, as an OpenAPI 3.1 document. Needs no token.", "", ""])
    return table(["route", "what it does", "body", "query"], rows)


def _body(struct: type | None) -> str:
    if struct is None:
        return ""
    fields = inspect.signature(struct).parameters.values()
    return ", ".join(code(f.name if f.default is f.empty else f"{f.name}?") for f in fields)


def error_codes() -> str:
    parts: list[str] = []
    for kind, whose in WHOSE.items():
        rows = [
            [code(c), error_what("en", c), error_next_step("en", c), str(status_of(c))]
            for c, of in CODES.items()
            if of is kind
        ]
        parts += [
            f"### {kind.capitalize()}: {whose}",
            table(["code", "what happened", "what to do", "HTTP"], rows),
        ]
    return "\n\n".join(parts)


def exit_codes() -> str:
    return table(["code", "meaning"], [[str(number), words] for number, words in sorted(EXIT_CODES.items())])


def journal_events() -> str:
    rows = [[code(t.__name__), ", ".join(code(f) for f in t.__struct_encode_fields__)] for t in EVENT_TYPES]
    return table(["type", "payload"], rows)


SECTIONS: Final[dict[str, Callable[[], str]]] = {
    "settings": settings_tables,
    "command line": cli_help,
    "chat commands": chat_commands,
    "slash commands": slash_commands,
    "HTTP routes": http_routes,
    "exit codes": exit_codes,
    "error codes": error_codes,
    "journal events": journal_events,
}


def with_tables(text: str) -> str:
    for name, make in SECTIONS.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, found, rest = text.partition(begin)
        _inside, closed, after = rest.partition(end)
        assert found, f"docs/reference.md has no section {name!r}"
        assert closed, f"the section {name!r} of docs/reference.md has no end"
        text = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return text


def wanted() -> dict[Path, str]:
    return {
        REFERENCE: with_tables(REFERENCE.read_text()),
        CONCEPTS: with_diagram(CONCEPTS.read_text()),
        ENV_EXAMPLE: env_example(),
    }


def stale() -> list[str]:
    return [str(path.relative_to(ROOT)) for path, text in wanted().items() if not _holds(path, text)]


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something is stale")
    if parser.parse_args().check:
        old = stale()
        sys.stdout.write(f"Stale: {', '.join(old)}. Run python docs/generate.py\n" if old else "All is up to date.\n")
        return 1 if old else 0
    for path, text in wanted().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
