"""Which runtimes there are: what is found on PATH, what is configured, in which order, and what changes later."""

from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.observe import JobLogDirectory, Redactor
from fairlead.runtimes.acp.known_agents import KNOWN_AGENTS
from fairlead.runtimes.catalogue import Catalogue, RuntimeParts, available_names, in_preferred_order, make_acp_runtime
from fairlead.runtimes.pool import ProcessPool
from fairlead.settings import Settings
from tests.support.settings import make_settings

pytestmark = [pytest.mark.anyio, pytest.mark.req("E1")]


def settings_in(place: Path, **more) -> Settings:
    return make_settings(STATE_DIR=place / "state", LOG_DIR=place / "logs", **more)


def catalogue_in(place: Path, **more) -> Catalogue:
    return Catalogue(settings_in(place, **more), JobLogDirectory(place / "logs", Redactor([])))


def agent(name: str, *command: str, **more) -> dict[str, ConfiguredAgent]:
    return {name: ConfiguredAgent(name=name, command=command or (name,), **more)}


async def test_on_an_empty_machine_there_is_echo(tmp_path: Path, programs):
    catalogue = catalogue_in(tmp_path)
    assert catalogue.follow({}) == []
    assert list(catalogue.runtimes) == ["echo"]


async def test_everything_that_is_known_is_found_on_path_by_name(tmp_path: Path, programs):
    programs("claude", "codex", *(known.programs[0] for known in KNOWN_AGENTS))
    names = available_names(settings_in(tmp_path), {})
    assert set(names) == {"claude", "codex", "gemini", "echo", *(known.name for known in KNOWN_AGENTS)}
    catalogue = catalogue_in(tmp_path)
    catalogue.follow({})
    assert tuple(catalogue.runtimes) == names
    await catalogue.aclose()


@pytest.mark.parametrize(
    ("there", "order"),
    [
        (("codex", "claude", "gemini"), ("claude", "codex", "gemini", "gemini-acp", "echo")),
        (("codex", "codex-acp"), ("codex-acp", "codex", "echo")),
        (("codex-acp", "gemini", "claude"), ("claude", "codex-acp", "gemini", "gemini-acp", "echo")),
        (("gemini", "opencode"), ("gemini", "gemini-acp", "opencode", "echo")),
        (("claude-code-acp", "codex"), ("codex", "claude-acp", "echo")),
        (("opencode", "claude-agent-acp"), ("claude-acp", "opencode", "echo")),
    ],
)
def test_the_preferred_agent_comes_first_and_echo_last(tmp_path: Path, programs, there, order):
    programs(*there)
    assert available_names(settings_in(tmp_path), {}) == order


def test_agent_command_comes_before_configured_agents_and_these_before_those_on_path(tmp_path: Path, programs):
    programs("codex", "opencode")
    settings = settings_in(tmp_path, AGENT_COMMAND=("my-agent", "--acp"))
    names = available_names(settings, agent("zulu") | agent("alpha"))
    assert names == ("codex", "acp", "zulu", "alpha", "opencode", "echo")


def test_names_that_nobody_knows_stay_in_their_order():
    assert in_preferred_order(["b", "echo", "gemini", "a", "claude"]) == ("claude", "gemini", "b", "a", "echo")


async def test_an_agent_that_is_added_later_is_in_the_shared_mapping_at_once(tmp_path: Path, programs):
    catalogue = catalogue_in(tmp_path)
    catalogue.follow({})
    shared = catalogue.runtimes
    assert catalogue.follow(agent("goose", "goose", "acp")) == []
    assert list(shared) == ["goose", "echo"]
    assert shared is catalogue.runtimes


async def test_a_changed_agent_gets_another_runtime_and_the_others_keep_theirs(tmp_path: Path, programs):
    catalogue = catalogue_in(tmp_path)
    catalogue.follow(agent("goose") | agent("other"))
    before = dict(catalogue.runtimes)
    gone = catalogue.follow(agent("goose", "goose", "acp") | agent("other"))
    assert gone == [before["goose"]]
    assert catalogue.runtimes["goose"] is not before["goose"]
    assert (catalogue.runtimes["other"], catalogue.runtimes["echo"]) == (before["other"], before["echo"])


async def test_a_removed_agent_goes_and_the_one_of_its_name_on_path_takes_its_place(tmp_path: Path, programs):
    programs("goose")
    catalogue = catalogue_in(tmp_path)
    catalogue.follow(agent("goose", "/opt/goose", "acp") | agent("mine"))
    before = dict(catalogue.runtimes)
    assert catalogue.follow({}) == [before["goose"], before["mine"]]
    assert list(catalogue.runtimes) == ["goose", "echo"]
    assert catalogue.runtimes["goose"].agent.command == ("goose", "acp")


async def test_the_runtime_gets_the_agent_the_settings_and_the_environment(tmp_path: Path, programs):
    catalogue = catalogue_in(tmp_path, FAIRLEAD_RUNTIME_ENVIRONMENT="EVERYBODYS")
    catalogue.follow(agent("goose", "goose", "acp", env=("OPENAI_API_KEY",)))
    described = catalogue.runtimes["goose"].agent
    assert described.extra_environment == ("EVERYBODYS", "OPENAI_API_KEY")
    logs = JobLogDirectory(tmp_path / "logs", Redactor([]))
    parts = RuntimeParts(settings_in(tmp_path), logs, ProcessPool(most=1, idle_sec=1.0))
    made = make_acp_runtime(described, parts)
    assert (made.name, made.agent) == ("goose", described)
