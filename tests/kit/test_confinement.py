"""What a confined child is shown, and that nothing is confined unless somebody asked for it."""

from itertools import pairwise
from pathlib import Path

import pytest

from fairlead.kit.confinement import Bubblewrap, ChildLaunch, confine, confine_children

pytestmark = pytest.mark.req("B14")


def bindings(launch: ChildLaunch) -> dict[str, str]:
    """For each path of the sandbox how it is shown, the last word on it winning."""
    ways = {"--bind", "--bind-try", "--ro-bind", "--ro-bind-try", "--tmpfs"}
    return {path: word for word, path in pairwise(launch.argv) if word in ways}


def test_without_a_confinement_a_child_is_started_as_it_is(tmp_path: Path):
    launch = confine(["/bin/true", "-x"], {"A": "1"}, cwd=tmp_path, mark="m")
    assert (launch.argv, launch.env, launch.identity()) == (("/bin/true", "-x"), {"A": "1"}, {})


def test_a_sandbox_shows_the_program_the_project_and_what_is_named_and_hides_the_state_last(tmp_path: Path):
    home, state, project = tmp_path / "home", tmp_path / "home/.local/state", tmp_path / "home/work"
    program = home / ".local/bin/agent"
    inbox = state / "inbox/mine"
    for directory in (state, project, program.parent, inbox, home / ".agent"):
        directory.mkdir(parents=True, exist_ok=True)
    program.touch()
    policy = tmp_path / "policy.toml"
    policy.touch()
    box = Bubblewrap("bwrap", home=home, hidden=[state], shown=lambda _argv, _mark: [home / ".agent", inbox])
    with confine_children([box]):
        argv = [str(program), f"--policy={policy}", "--", str(state / "http-token")]
        launch = confine(argv, {"SSH_AUTH_SOCK": "/run/agent"}, cwd=project, mark="m")
    shown = bindings(launch)
    assert shown[str(project)] == "--bind"
    assert shown[str(policy)] == "--ro-bind"
    assert shown[str(program.parent)] == "--ro-bind-try"  # and not what is above it: the state lies there
    assert shown[str(home / ".agent")] == "--bind-try"
    assert shown[str(state)] == "--tmpfs"
    assert shown[str(home)] == "--tmpfs"
    words = list(launch.argv)
    assert words.index(str(inbox)) > words.index(str(state))  # shown again after the state was hidden
    assert launch.argv[-4:] == tuple(argv)
    assert launch.env == {"TMPDIR": "/tmp"}
    assert confine(argv, {}, cwd=project, mark="m").argv == tuple(argv)
