"""config.json: a readable copy; a hand edit is taken over, a stale copy rewritten, a mistake named with its line."""

import asyncio
import errno
import json
from pathlib import Path

import pytest

from fairlead.core import requests as ask
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import Handle, RealDisk
from tests.store.config_edits import command, config, edit, refused, run_daemon_in, shown

pytestmark = [pytest.mark.anyio, pytest.mark.req("A15")]


async def test_it_shows_owner_and_projects_as_published(directory: Path):
    async with run_daemon_in(directory, DISCORD_OWNER_ID="42", PROJECTS=(str(directory / "src/api"),)):
        shown = config(directory)
    assert (shown["version"], shown["owner_id"]) == (1, "42")
    project = shown["projects"]["api"]
    assert project["name"] == "api"
    assert project["path"] == str(directory / "src/api")
    assert project["default_tool"] in project["enabled_tools"]
    assert project["default_args"] == {tool: [] for tool in project["enabled_tools"]}
    assert project["created_at"] <= project["updated_at"]
    assert (directory / "state" / "config.json").stat().st_mode & 0o777 == 0o600


async def test_it_follows_the_journal_while_fairlead_runs(directory: Path):
    async with run_daemon_in(directory) as daemon:
        await command(daemon, ask.ProjectAdd(str(directory / "src/web")))
        await shown(directory, "web")
    assert set(config(directory)["projects"]) == {"web"}


@pytest.mark.req("A7")
async def test_a_stale_copy_is_rewritten_and_a_lost_one_comes_back(directory: Path):
    async with run_daemon_in(directory) as daemon:
        await command(daemon, ask.ProjectAdd(str(directory / "src/api")))
    stale = (directory / "state" / "config.json").read_bytes()
    async with run_daemon_in(directory) as daemon:
        await command(daemon, ask.ProjectAdd(str(directory / "src/web")))
    (directory / "state" / "config.json").write_bytes(stale)
    async with run_daemon_in(directory):
        assert set(config(directory)["projects"]) == {"api", "web"}
    (directory / "state" / "config.json").unlink()
    async with run_daemon_in(directory):
        assert set(config(directory)["projects"]) == {"api", "web"}


async def test_a_hand_edit_is_taken_over_at_the_next_start(directory: Path):
    async with run_daemon_in(directory) as daemon:
        await command(daemon, ask.ProjectAdd(str(directory / "src/api")))

    def change(content: dict) -> None:
        content["owner_id"] = "77"
        content["projects"]["api"]["default_args"] = {"echo": ["--model", "x"]}
        content["projects"]["mine"] = {
            "name": "mine",
            "path": str(directory / "src/web"),
            "enabled_tools": ["echo"],
            "default_tool": "echo",
        }

    edit(directory, change)
    async with run_daemon_in(directory) as daemon:
        state = daemon.flow.ledger.state
        assert state.owner_id == "77"
        assert state.projects["api"].default_args == {"echo": ("--model", "x")}
        assert (state.projects["mine"].number, state.projects["mine"].path) == (2, str(directory / "src/web"))
        seq = state.seq
    async with run_daemon_in(directory) as daemon:
        assert daemon.flow.ledger.state.seq == seq + 1, "and only once: all that is new is the start itself"


async def test_a_file_written_by_hand_without_a_hash_is_an_edit(directory: Path):
    (directory / "state").mkdir()
    project = {"name": "api", "path": str(directory / "src/api"), "enabled_tools": ["echo"], "default_tool": "echo"}
    (directory / "state" / "config.json").write_text(json.dumps({"version": 1, "projects": {"api": project}}))
    async with run_daemon_in(directory) as daemon:
        assert set(daemon.flow.ledger.state.projects) == {"api"}


async def test_the_setting_wins_over_the_files_owner(directory: Path):
    (directory / "state").mkdir()
    (directory / "state" / "config.json").write_text('{"version": 1, "owner_id": "1"}')
    async with run_daemon_in(directory, DISCORD_OWNER_ID="2") as daemon:
        assert daemon.flow.ledger.state.owner_id == "2"


async def test_an_edit_made_while_fairlead_runs_is_not_overwritten(directory: Path):
    async with run_daemon_in(directory) as daemon:
        await command(daemon, ask.ProjectAdd(str(directory / "src/api")))
        await shown(directory, "api")
        edit(directory, lambda c: c["projects"]["api"].update(default_args={"echo": ["--mine"]}))
        await command(daemon, ask.ProjectAdd(str(directory / "src/web")))
    async with run_daemon_in(directory) as daemon:
        assert daemon.flow.ledger.state.projects["api"].default_args == {"echo": ("--mine",)}
        assert set(config(directory)["projects"]) == {"api", "web"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"default_tool": "vim"}, "default_tool 'vim' is not among enabled_tools"),
        ({"path": "src/api"}, "is not absolute"),
        ({"name": "other"}, "calls itself 'other'"),
        ({"enabled_tools": ["vim"], "default_tool": "vim"}, "Agents named: vim"),
        ({"default_args": {"codex": ["-x"]}}, "codex, which is not enabled"),
        ({"path": "/does/not/exist"}, "/does/not/exist does not exist"),
    ],
)
@pytest.mark.req("A18")
async def test_a_mistake_stops_the_start_and_names_file_and_line(directory: Path, change: dict, says: str):
    good = {"name": "good", "path": str(directory / "src/api"), "enabled_tools": ["echo"], "default_tool": "echo"}
    bad = good | {"name": "bad", "path": str(directory / "src/web")} | change
    text = json.dumps({"version": 1, "projects": {"good": good, "bad": bad}}, indent=2)
    (directory / "state").mkdir()
    (directory / "state" / "config.json").write_text(text)
    line = next(n for n, row in enumerate(text.splitlines(), 1) if '"bad"' in row)
    fault = await refused(directory)
    assert fault.code is Code.E_CONFIG
    assert f"{directory / 'state/config.json'}, line {line}: " in fault.message
    assert says in fault.message
    assert (directory / "state" / "config.json").read_text() == text, "the person's own words are left alone"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not valid JSON"),
        ("", "is not valid JSON"),
        ("[]", "object"),
        ('{"version": 2}', "version 2 is not known"),
        (
            """{"version": 1,
               "projects": {"Api": {"name": "Api", "path": "/", "enabled_tools": ["echo"], "default_tool": "echo"}}}""",
            "line 2",
        ),
        (
            """{"version": 1, "projects":
                {"api": {"name": "api", "path": "/",
                "enabled_tools": "echo", "default_tool": "echo"}}}""",
            "line 3",
        ),
        ('{"version": 1, "colour": "blue"}', "colour"),
        ("\xff\xfe", "is not valid JSON"),
    ],
)
async def test_a_file_that_makes_no_sense_stops_the_start(directory: Path, text: str, says: str):
    (directory / "state").mkdir()
    (directory / "state" / "config.json").write_text(text, encoding="latin-1")
    fault = await refused(directory)
    assert fault.code is Code.E_CONFIG
    assert str(directory / "state/config.json") in fault.message
    assert says in fault.message


@pytest.mark.req("B11")
async def test_a_project_whose_path_is_gone_is_disabled_and_told_at_every_start_until_it_is_back(directory: Path):
    async with run_daemon_in(directory, PROJECTS=(str(directory / "src/api"), str(directory / "src/web"))):
        pass
    (directory / "src/web").rename(directory / "src/moved")
    for _ in range(2):
        async with run_daemon_in(directory) as daemon:
            assert any("web is disabled" in note for note in daemon.notes)
            assert daemon.flow.ledger.state.projects["web"].disabled
    (directory / "src/moved").rename(directory / "src/web")
    async with run_daemon_in(directory) as daemon:
        assert any("web is available again" in note for note in daemon.notes)
        assert not daemon.flow.ledger.state.projects["web"].disabled


@pytest.mark.req("B2")
async def test_projects_come_from_the_settings_in_order_with_numbers_that_stay(directory: Path):
    for name in ("Zeta One", "alpha", ".hidden"):
        (directory / "root" / name).mkdir(parents=True)
    (directory / "root" / "file.txt").write_text("")
    listed = (str(directory / "src/web"), str(directory / "src/api"))
    async with run_daemon_in(directory, PROJECTS=listed, FAIRLEAD_PROJECT_ROOT=str(directory / "root")) as daemon:
        projects = daemon.flow.ledger.state.projects
        assert [(p.number, p.name) for p in projects.values()] == [
            (1, "web"),
            (2, "api"),
            (3, "zeta-one"),
            (4, "alpha"),
        ]
    (directory / "root" / "beta").mkdir()
    async with run_daemon_in(directory, PROJECTS=listed[::-1], FAIRLEAD_PROJECT_ROOT=str(directory / "root")) as daemon:
        numbers = {p.name: p.number for p in daemon.flow.ledger.state.projects.values()}
        assert numbers == {"web": 1, "api": 2, "zeta-one": 3, "alpha": 4, "beta": 5}


@pytest.mark.req("B2")
async def test_what_the_settings_name_and_is_not_there_is_left_out_and_told(directory: Path):
    gone = (str(directory / "src/ap"),)
    async with run_daemon_in(directory, PROJECTS=gone, FAIRLEAD_PROJECT_ROOT=str(directory / "nowhere")) as daemon:
        assert daemon.flow.ledger.state.projects == {}
        assert any("Did you mean" in note and "src/api" in note for note in daemon.notes)
        assert any("FAIRLEAD_PROJECT_ROOT" in note for note in daemon.notes)


@pytest.mark.req("B11")
async def test_links_and_dots_are_resolved_once_and_one_directory_is_one_project(directory: Path):
    (directory / "link").symlink_to(directory / "src/api")
    async with run_daemon_in(directory) as daemon:
        first = await command(daemon, ask.ProjectAdd(str(directory / "src/web/../api")))
        second = await command(daemon, ask.ProjectAdd(str(directory / "link")))
        assert first.path == second.path == str(directory / "src/api")
        assert (first.number, second.created) == (1, False)
        with pytest.raises(FairleadError) as caught:
            await command(daemon, ask.ProjectAdd("src/api"))
        assert caught.value.code is Code.E_INVALID_PATH


class NoRoomForCopies(RealDisk):
    """Takes the journal's bytes and nobody else's."""

    def open_new(self, path: Path, mode: int = 0o600) -> Handle:
        if path.name.startswith(".config.json"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return super().open_new(path, mode)


async def test_a_full_disk_delays_the_copy_and_ends_nothing(directory: Path):
    async with run_daemon_in(directory, disk=NoRoomForCopies()) as daemon:
        for name in ("api", "web"):
            await command(daemon, ask.ProjectAdd(str(directory / "src" / name)))
        assert len((await command(daemon, ask.ProjectList())).projects) == 2
    assert not (directory / "state" / "config.json").exists()
    async with run_daemon_in(directory):
        assert set(config(directory)["projects"]) == {"api", "web"}


class InterruptingDisk(RealDisk):
    """Lets something happen in the very moment in which the copy is written."""

    meanwhile = None

    def replace(self, source: Path, target: Path) -> None:
        meanwhile, self.meanwhile = (self.meanwhile, None) if target.name == "config.json" else (None, self.meanwhile)
        if meanwhile is not None:
            meanwhile()
        super().replace(source, target)


async def test_a_change_while_the_copy_is_being_written_is_shown_too(directory: Path):
    disk = InterruptingDisk()
    async with run_daemon_in(directory, disk=disk) as daemon:
        loop = asyncio.get_running_loop()
        add_web = command(daemon, ask.ProjectAdd(str(directory / "src/web")))
        disk.meanwhile = lambda: asyncio.run_coroutine_threadsafe(add_web, loop).result(30)
        await command(daemon, ask.ProjectAdd(str(directory / "src/api")))
        await shown(directory, "web")
    assert set(config(directory)["projects"]) == {"api", "web"}
