"""Where installed agents live: whole or not at all, and gone when nothing names them."""

from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.agent_files import AgentFiles, InstallNote, sha256_of

pytestmark = pytest.mark.req("B4")


def install(files: AgentFiles, name: str = "mine", version: str = "1.0.0", digest: str = "sha256:1") -> ConfiguredAgent:
    place = files.choose_place(name, version)
    with files.building() as build:
        (build / "program").write_text(f"{name} {version}")
        note = InstallNote(
            name=name,
            source="npm:x",
            version=version,
            digest=digest,
            program="program",
            program_sha256=sha256_of(build / "program"),
        )
        files.move_in(build, place, note)
    return ConfiguredAgent(
        name=name, command=(str(place / "program"), "acp"), version=version, digest=digest, source="npm:x"
    )


def tree(files: AgentFiles) -> list[str]:
    return sorted(str(path.relative_to(files.root)) for path in files.root.rglob("program"))


def test_an_agent_is_moved_in_whole_and_known_by_its_command(tmp_path: Path):
    files = AgentFiles(tmp_path)
    agent = install(files)
    place = files.place_of(agent)
    assert place is not None
    assert Path(agent.command[0]).read_text() == "mine 1.0.0"
    assert files.find_damage(agent) == ""
    behind_env = ConfiguredAgent(name="mine", command=("/usr/bin/env", "A=1", *agent.command))
    assert files.place_of(behind_env) == place
    for command in (("goose", "acp"), ("/opt/goose",), (str(files.root / "other" / "x" / "program"),)):
        assert files.place_of(ConfiguredAgent(name="mine", command=command)) is None


def test_what_was_changed_or_lost_is_named(tmp_path: Path):
    files = AgentFiles(tmp_path)
    agent = install(files)
    Path(agent.command[0]).write_text("something else")
    assert files.find_damage(agent).endswith("program was changed since it was installed")
    another = ConfiguredAgent(name="mine", command=agent.command, digest="sha256:2")
    Path(agent.command[0]).write_text("mine 1.0.0")
    assert files.find_damage(another).endswith("holds another release than the journal says")
    files.remove(agent)
    assert files.find_damage(agent).endswith("are gone or cannot be read")
    assert not (files.root / "mine").exists()
    files.remove(agent)  # twice is once


def test_a_start_removes_what_no_agent_names_and_nothing_while_somebody_installs(tmp_path: Path):
    files = AgentFiles(tmp_path)
    files.forget_unnamed([])  # there is no directory yet
    old, new, gone = install(files), install(files, version="2.0.0"), install(files, name="gone")
    files.release("npm:x", "1.0.0").keep_digest("sha256:1")
    killed = files.root / ".building-abc"
    killed.mkdir()
    everything = tree(files)
    with files.lock():
        killed.mkdir()
        files.forget_unnamed([new])
        assert killed.is_dir()
        assert tree(files) == everything
    files.forget_unnamed([new, ConfiguredAgent(name="own", command=("/opt/own",))])
    assert not killed.exists()
    assert tree(files) == [str(Path(new.command[0]).relative_to(files.root))]
    assert files.find_damage(old) != ""
    assert files.find_damage(gone) != ""
    assert files.release("npm:x", "1.0.0").read("digest") == b"sha256:1"


def test_a_failure_leaves_nothing_and_the_next_command_removes_what_a_killed_one_left(tmp_path: Path):
    files = AgentFiles(tmp_path)
    with suppress(KeyboardInterrupt), files.building() as build:
        (build / "half").write_text("made")
        raise KeyboardInterrupt
    assert list(files.root.iterdir()) == []
    (files.root / ".building-dead").mkdir()
    with files.lock():
        assert [path.name for path in files.root.iterdir()] == [".lock"]
        with pytest.raises(FairleadError) as refused:
            files.lock()
    assert refused.value.code is Code.E_STATE_LOCKED
    assert "installs or removes" in refused.value.message


def test_the_first_digest_of_a_release_is_kept_and_another_is_refused(tmp_path: Path):
    kept = AgentFiles(tmp_path).release("registry:a/../b", "1.0.0")
    kept.check_digest("sha256:1", "b 1.0.0")
    kept.keep_digest("sha256:1")
    kept.keep_digest("sha256:2")
    kept.check_digest("sha256:1", "b 1.0.0")
    with pytest.raises(FairleadError) as refused:
        kept.check_digest("sha256:2", "b 1.0.0")
    assert refused.value.code is Code.E_AGENT_DIGEST
    assert {path.parent.parent for path in tmp_path.rglob("digest")} == {tmp_path / "agents" / ".releases"}
