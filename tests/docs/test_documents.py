"""The documents hold together: links lead somewhere, both commands are shown, the drawn states are the real ones."""

import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path

import click
import pytest

from fairlead.cli import main as cli
from fairlead.core.events import EVENT_TYPES
from fairlead.core.job_states import TRANSITIONS, JobState
from fairlead.settings import setting_names

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fairlead"

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CONSOLE_SHOWN = ("README.md", "docs/guide.md")
PICTURES = ("discord.svg", "terminal.svg")
WITHOUT_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The names that a heading can be linked by, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?s)```.*?```", "", path.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path: Path) -> list[str]:
    text = re.sub(r"(?s)```.*?```", "", path.read_text())
    found = [*re.findall(r"\]\(([^)\s]+)\)", text), *re.findall(r'\bsrc="([^"]+)"', text)]
    return [link for link in found if not link.startswith(("http://", "https://"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_and_a_heading_that_is_there(document: Path):
    broken = []
    for link in links(document):
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_there_are_links_to_check():
    assert sum(len(links(document)) for document in DOCUMENTS) > 30


def test_the_readme_shows_both_commands_and_the_pictures():
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"(?m)^make run\b", readme)
    assert re.search(r"(?m)^make test\b", readme)
    for picture in PICTURES:
        assert f"docs/pictures/{picture}" in readme
        assert (ROOT / "docs/pictures" / picture).read_text().startswith("<svg")


@pytest.mark.req("G7")
def test_the_console_is_shown_in_the_readme_and_in_the_guide():
    shown = {
        path: set(re.findall(r"pictures/(console-[\w-]+\.png)", (ROOT / path).read_text())) for path in CONSOLE_SHOWN
    }
    taken = {path.name for path in (ROOT / "docs/pictures").glob("console-*.png")}
    assert all(shown.values())
    assert set.union(*shown.values()) == taken, "each picture is shown, and each that is shown is there"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fetches_nothing_from_anywhere(name: str):
    picture = (ROOT / "docs/pictures" / name).read_text()
    assert set(re.findall(r"https?://[\w.]+", picture)) <= {"http://www.w3.org", "http://127.0.0.1"}


def test_every_state_of_a_job_is_drawn_and_every_arrow_explained():
    concepts = (ROOT / "docs/concepts.md").read_text()
    diagram = concepts.partition("```mermaid")[2].partition("```")[0]
    arrows = re.findall(r"(?m)^\s*(\S+) --> (\S+): (\w+)$", diagram)
    drawn = {place for start, end, _ in arrows for place in (start, end)}
    assert drawn - {"[*]"} == set(typing.get_args(JobState))
    assert {letter for _, _, letter in arrows} == set(re.findall(r"(?m)^\| ([a-z]) \|", concepts))


def test_the_arrows_name_events_that_exist():
    concepts = (ROOT / "docs/concepts.md").read_text()
    named = {word for row in re.findall(r"(?m)^\| [a-z] \|.*$", concepts) for word in re.findall(r"`([A-Z]\w+)`", row)}
    assert named
    assert named <= {event.__name__ for event in EVENT_TYPES}


def test_every_arrow_names_the_events_by_which_it_happens():
    concepts = (ROOT / "docs/concepts.md").read_text()
    rows = dict(re.findall(r"(?m)^\| ([a-z]) \| .* \| (.*) \|$", concepts))
    assert [move for move in TRANSITIONS if f"`{move.event.__name__}`" not in rows[move.arrow]] == []


def test_the_documents_speak_of_no_command_that_is_not_there():
    reference = (ROOT / "docs/reference.md").read_text()
    for document in DOCUMENTS:
        for words in re.findall(r"`(fairlead [a-z]+(?: (?:verify|tail|show))?)\b", document.read_text()):
            assert f"\n### {words}\n" in reference, f"{document.name} speaks of {words}"


def test_the_packages_of_the_contributing_guide_are_those_that_are_there():
    rooms = (ROOT / "CONTRIBUTING.md").read_text().partition("src/fairlead/\n")[2].partition("```")[0]
    named = set(re.findall(r"(?m)^  (\w+)(?:/|\.py)", rooms))
    there = {path.stem for path in (ROOT / "src/fairlead").iterdir() if not path.name.startswith("__")}
    assert named == there


def test_every_file_that_the_contributing_guide_names_is_there():
    """A path is given from the root of the repository, or from src/fairlead; NAME stands for something new."""
    prose = "".join((ROOT / "CONTRIBUTING.md").read_text().split("```")[::2])
    marked = re.findall(r"`([^`]+)`", prose)
    words = {word for each in marked for word in each.split() if re.fullmatch(r"\w+/[\w/]*(?:\.\w+)?", word)}
    paths = {word for word in words if "NAME" not in word}
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not any((top / path).exists() for top in (ROOT, SOURCE))] == []


def is_defined_in(path: Path, name: str) -> bool:
    """As a class, a function, a value, or a name that the module offers in `__all__`."""
    definition = rf"(?m)^ *(?:class|(?:async )?def) {name}\b|^ *{name}(?:: .*)? = |^ *\"{name}\",$"
    return path.exists() and re.search(definition, path.read_text()) is not None


def test_what_the_contributing_guide_says_is_in_a_file_is_there():
    """`make_channels` of `real_machine.py`, `ports.Runtime`; NAME stands for something new."""
    prose = " ".join("".join((ROOT / "CONTRIBUTING.md").read_text().split("```")[::2]).split())
    in_files = re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", prose)
    in_modules = [(name, f"{module}.py") for module, name in re.findall(r"`(\w+)\.([A-Z]\w+)`", prose)]
    named = [*in_files, *in_modules]
    assert len(named) > 15
    places = {(name, path): (ROOT / path, SOURCE / path) for name, path in named}
    assert [pair for pair, paths in places.items() if not any(is_defined_in(path, pair[0]) for path in paths)] == []


def documented_selections() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return [arguments.strip() for arguments in re.findall(r"(?m)^\.venv/bin/pytest ([^#\n]+)", text)]


def test_there_is_an_example_of_running_some_tests():
    assert documented_selections() != []


@pytest.mark.parametrize("arguments", documented_selections())
def test_the_contributing_guide_selects_tests_that_are_there(arguments: str):
    collect = [sys.executable, "-m", "pytest", "--collect-only", *shlex.split(arguments)]
    found = subprocess.run(collect, cwd=ROOT, text=True, capture_output=True, check=False)
    assert found.returncode == pytest.ExitCode.OK, found.stdout
    assert "test_" in found.stdout


def shell_lines(document: Path) -> list[list[str]]:
    """The words of each `fairlead …` that a person would type, without what stands around a pipe."""
    blocks = re.findall(r"(?s)```(?:sh|console)\n(.*?)```", document.read_text())
    pieces = [piece.strip() for block in blocks for piece in re.split(r"[|\n]|&&", block.replace("\n$ ", "\n"))]
    typed = [piece.removeprefix("$ ") for piece in pieces]
    return [shlex.split(piece, comments=True) for piece in typed if re.match(r"(\.venv/bin/)?fairlead ", piece)]


def unknown_words(typed: list[str]) -> list[str]:
    """Subcommands and options that the program does not have."""
    command, words = cli.main, typed[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        context = click.Context(command)
        inner = command.get_command(context, words[0])
        if inner is None:
            return [words[0]]
        command, words = inner, words[1:]
    words = words[: words.index("--")] if "--" in words else words
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return [word for word in words if word.startswith("-") and word not in known]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_the_documents_tell_people_to_type_is_there(document: Path):
    assert [(typed, unknown) for typed in shell_lines(document) if (unknown := unknown_words(typed))] == []


def test_there_are_commands_to_check():
    assert len(shell_lines(ROOT / "README.md")) >= 3
    assert sum(len(shell_lines(document)) for document in DOCUMENTS) > 20


NO_SETTINGS = {
    *("FAIRLEAD_ENV_FILE", "FAIRLEAD_DISCORD_OPENAPI", "FAIRLEAD_SCREENSHOTS"),
    *("FAIRLEAD_PROJECT_URL", "FAIRLEAD_PROJECT_FORGE"),
}
"""Read from the environment before there are settings, by the tests, or when the package is built."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_names_a_setting_that_does_not_exist(document: Path):
    aliases = {alias for each in setting_names().values() for alias in each[0].split(", ")}
    named = set(re.findall(r"\b(?:FAIRLEAD|DISCORD|CLAUDE|CODEX|GEMINI)_[A-Z_]+[A-Z]\b", document.read_text()))
    assert named - set(setting_names()) - aliases - NO_SETTINGS == set()
