"""Of the person's own git only what a checkout needs is taken."""

import asyncio
import os
from pathlib import Path

import pytest

from fairlead.git.command import Git
from fairlead.git.person_config import OWN_CONFIG, PersonConfig, read_person_config

pytestmark = pytest.mark.req("F5")


def read(environment: dict[str, str], *, with_filters: bool = True) -> PersonConfig:
    runner = Git(dict(os.environ))
    try:
        steps = lambda calls: read_person_config(calls, environment, with_filters=with_filters)  # noqa: E731 - a step
        return asyncio.run(runner.work(steps))
    finally:
        runner.close()


def test_without_a_home_there_is_nothing():
    assert read({}) == PersonConfig()


def test_aliases_hooks_and_helpers_stay_outside(tmp_path: Path):
    (tmp_path / ".gitconfig").write_text(
        "[alias]\n\tx = !evil\n[core]\n\thooksPath = /evil\n\tautocrlf = input\n\tpager = evil\n"
        '[filter "lfs"]\n\tprocess = git-lfs filter-process\n[user]\n\tname = Ada\n'
    )
    person = read({"HOME": str(tmp_path)})
    assert dict(person.config[len(OWN_CONFIG) :]) == {
        "core.autocrlf": "input",
        "filter.lfs.process": "git-lfs filter-process",
    }
    assert (person.committer, person.variables) == ({"GIT_COMMITTER_NAME": "Ada"}, {"HOME": str(tmp_path)})
    apart = read({"HOME": str(tmp_path)}, with_filters=False)
    assert dict(apart.config[len(OWN_CONFIG) :]) == {"core.autocrlf": "input"}


def test_the_usual_file_of_ignored_names_is_found(tmp_path: Path):
    ignored = tmp_path / ".config" / "git" / "ignore"
    ignored.parent.mkdir(parents=True)
    ignored.write_text("*.swp\n")
    assert ("core.excludesfile", str(ignored)) in read({"HOME": str(tmp_path)}).config


def test_a_file_that_git_cannot_read_is_as_if_it_were_not_there(tmp_path: Path):
    (tmp_path / ".gitconfig").write_text("[broken\n")
    assert read({"HOME": str(tmp_path)}).config == OWN_CONFIG
