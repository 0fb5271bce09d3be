"""Agents that a person writes into config.json, changes there, or takes out again."""

import json
import shutil
from pathlib import Path

import pytest

from fairlead.core import requests as ask
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide.agents import ConfigureAgent
from fairlead.errors import Code, FairleadError
from tests.store.config_edits import command, config, edit, refused, run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("A15")]


def goose(**more) -> dict:
    return {"command": ["goose", "acp"], "env": ["GOOSE_PROVIDER"]} | more


def agents(**written: dict) -> str:
    return json.dumps({"version": 1, "agents": written}, indent=2)


async def refused_text(directory: Path, text: str) -> FairleadError:
    (directory / "state").mkdir(exist_ok=True)
    (directory / "state" / "config.json").write_text(text)
    return await refused(directory)


async def test_an_agent_and_a_project_that_allows_it_are_taken_over_in_one_start(directory: Path):
    (directory / "state").mkdir()
    project = {"name": "api", "path": str(directory / "src/api"), "enabled_tools": ["goose"], "default_tool": "goose"}
    text = json.dumps({"version": 1, "projects": {"api": project}, "agents": {"goose": goose()}})
    (directory / "state" / "config.json").write_text(text)
    async with run_daemon_in(directory) as daemon:
        state = daemon.flow.ledger.state
        assert state.agents["goose"].env == ("GOOSE_PROVIDER",)
        assert state.projects["api"].default_runtime == "goose"
        assert "goose" in daemon.runtimes
        assert config(directory)["agents"] == {"goose": goose()}
        seq = state.seq
    async with run_daemon_in(directory) as daemon:
        assert "goose" in daemon.runtimes, "the journal alone is enough"
        assert daemon.flow.ledger.state.seq == seq + 1


async def test_a_line_for_an_agent_is_enough_for_projects_that_allow_every_agent(directory: Path):
    async with run_daemon_in(directory, PROJECTS=(str(directory / "src/api"),)) as daemon:
        before = daemon.flow.ledger.state.projects["api"].enabled_runtimes
    edit(directory, lambda c: c.update(agents={"goose": goose()}))
    async with run_daemon_in(directory) as daemon:
        assert daemon.flow.ledger.state.projects["api"].enabled_runtimes == (*before, "goose")
        added = await command(daemon, ask.ProjectAdd(str(directory / "src/web")))
        assert "goose" in added.enabled_tools


async def test_an_agent_written_by_hand_goes_when_its_line_goes_and_one_that_a_command_added_stays(directory: Path):
    async with run_daemon_in(directory) as daemon:
        added = ConfiguredAgent(name="added", command=("x",))
        await daemon.flow.ledger.record_durably(ConfigureAgent(added))
    edit(directory, lambda c: c["agents"].update(mine={"command": ["mine"]}))
    async with run_daemon_in(directory) as daemon:
        assert set(daemon.flow.ledger.state.agents) == {"added", "mine"}
    edit(directory, lambda c: c.update(agents={}))
    async with run_daemon_in(directory) as daemon:
        assert set(daemon.flow.ledger.state.agents) == {"added"}
        assert "mine" not in daemon.runtimes


async def test_a_file_without_agents_removes_none(directory: Path):
    (directory / "state").mkdir()
    (directory / "state" / "config.json").write_text(agents(goose=goose()))
    async with run_daemon_in(directory):
        pass
    edit(directory, lambda c: c.pop("agents"))
    async with run_daemon_in(directory) as daemon:
        assert set(daemon.flow.ledger.state.agents) == {"goose"}


async def test_an_edit_that_shows_an_older_version_changes_the_variables_and_not_the_version(directory: Path):
    installed = ConfiguredAgent(name="goose", command=("/one",), version="1.0.0", digest="a", source="npm:goose")
    async with run_daemon_in(directory) as daemon:
        await daemon.flow.ledger.record_durably(ConfigureAgent(installed))
    edit(directory, lambda c: c["agents"]["goose"].update(env=["GOOSE_MODE"]))
    edited = (directory / "state" / "config.json").read_bytes()
    newer = ConfiguredAgent(name="goose", command=("/two",), version="2.0.0", digest="b", source="npm:goose")
    (directory / "state" / "config.json").unlink()
    async with run_daemon_in(directory) as daemon:
        await daemon.flow.ledger.record_durably(ConfigureAgent(newer))
    (directory / "state" / "config.json").write_bytes(edited)
    async with run_daemon_in(directory) as daemon:
        found = daemon.flow.ledger.state.agents["goose"]
        assert (found.command, found.version, found.env) == (("/two",), "2.0.0", ("GOOSE_MODE",))


@pytest.mark.req("A18", "B14")
@pytest.mark.parametrize(
    ("written", "line_with", "says"),
    [
        (goose(env=["GOOSE_PROVIDER", "KEY=sk-1"]), "KEY=sk-1", "names of variables, not values: write 'KEY'"),
        (goose(env=["DISCORD_TOKEN"]), "DISCORD_TOKEN", "never passed to an agent"),
        (goose(env=["FAIRLEAD_HTTP_TOKEN"]), "FAIRLEAD_HTTP_TOKEN", "never passed to an agent"),
        (goose(env=["a b"]), "a b", "not a valid variable name"),
        (goose(command=[]), "bad", "must name a program"),
        (goose(command="goose acp"), "goose acp", "agent 'bad': command must be a list, not a text"),
        (goose(cmd=["x"]), "cmd", "agent 'bad': there is no field cmd"),
    ],
)
async def test_a_mistake_in_an_agent_names_its_line(directory: Path, written: dict, line_with: str, says: str):
    text = agents(good={"command": ["bad", "cmd", "a b"], "env": ["GOOSE_PROVIDER"]}, bad=written)
    later = text[text.index('"bad": {') :]
    line = text[: len(text) - len(later) + later.index(line_with)].count("\n") + 1
    fault = await refused_text(directory, text)
    assert fault.code is Code.E_CONFIG
    assert f"{directory / 'state/config.json'}, line {line}: " in fault.message
    assert says in fault.message
    assert "sk-1" not in fault.message


@pytest.mark.parametrize(("name", "says"), [("claude", "is built in"), ("My Agent", "is not 1 to 40 characters")])
async def test_a_name_that_an_agent_cannot_have_stops_the_start(directory: Path, name: str, says: str):
    fault = await refused_text(directory, agents(**{name: goose()}))
    assert (fault.code, "line 4: " in fault.message) == (Code.E_CONFIG, True)
    assert says in fault.message


async def test_a_copy_of_a_version_that_knew_no_agents_is_no_edit(directory: Path):
    """Its hash was made without them; taking it for an edit would restore what it shows."""
    (directory / "state").mkdir()
    shutil.copy(Path(__file__).parent / "earlier_version" / "config.json", directory / "state" / "config.json")
    async with run_daemon_in(directory) as daemon:
        assert daemon.flow.ledger.state.projects == {}
        assert "agents" not in config(directory)
