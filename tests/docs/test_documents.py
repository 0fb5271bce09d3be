"""The documents hold together: links lead somewhere, both commands are shown, the drawn states are the real ones."""

import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from fairlead.core.events import EVENT_TYPES
from fairlead.core.job_states import JobState

ROOT = Path(__file__).parents[2]

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
WITHOUT_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The names that a heading can be linked by, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?s)```.*?```", "", path.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?s)```.*?```", "", path.read_text()))
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


def test_the_readme_shows_both_commands_and_the_picture():
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"(?m)^make run\b", readme)
    assert re.search(r"(?m)^make test\b", readme)
    assert (ROOT / "docs/pictures/terminal.svg").read_text().startswith("<svg")


def test_the_picture_fetches_nothing_from_anywhere():
    picture = (ROOT / "docs/pictures/terminal.svg").read_text()
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
