"""Projects: names, numbers, tools, and which one is worked in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.projects import (
    NAME_PATTERN,
    AddProject,
    CreateProject,
    SwitchProject,
    UpdateProject,
    free_name,
)
from fairlead.core.events import ProjectSwitched, ProjectUpdated
from fairlead.core.state import Project, State
from fairlead.errors import Code
from tests.core.harness import LIMITS, OWNER, CoreHarness, directory, key_of, place, thread


def creating(name: str = "web", **more) -> CreateProject:
    given = {"directory": directory("/srv/web"), "runtimes": ("echo", "claude"), "default_runtime": "claude"}
    return CreateProject(name=name, **(given | more))


@pytest.mark.req("A12", "A15")
def test_a_project_is_created_with_its_name_number_tools_and_arguments(core: CoreHarness):
    core.do(creating(args={"claude": ("--verbose",)}))
    project = core.state.projects["web"]
    assert (project.number, project.path, project.enabled_runtimes) == (2, "/srv/web", ("echo", "claude"))
    assert (project.default_runtime, project.default_args) == ("claude", {"claude": ("--verbose",)})


BAD_NAMES = ["", "Web", "web site", "a" * 41, "wéb", "web\n", "../web"]


@pytest.mark.req("A12", "A15", "A18")
@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_outside_the_pattern_is_refused(core: CoreHarness, name: str):
    assert core.refuses(creating(name)) == Code.E_INVALID_NAME


@pytest.mark.req("A12", "A15", "A18")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "api"}, Code.E_PROJECT_EXISTS),
        ({"directory": directory("/gone", "/gone does not exist.")}, Code.E_INVALID_PATH),
        ({"runtimes": ()}, Code.E_INVALID_TOOLSET),
        ({"runtimes": ("echo", "emacs")}, Code.E_INVALID_TOOLSET),
        ({"default_runtime": "codex"}, Code.E_INVALID_TOOLSET),
        ({"args": {"codex": ("-x",)}}, Code.E_INVALID_ARGS),
    ],
)
def test_what_cannot_be_a_project_is_refused(core: CoreHarness, given: dict, code: Code):
    assert core.refuses(creating(**given)) == code
    assert list(core.state.projects) == ["api"]


@pytest.mark.req("B2")
def test_an_added_directory_is_named_after_itself_with_all_tools(core: CoreHarness):
    core.do(AddProject(directory("/home/me/My Project!/"), source="scan"))
    project = core.state.projects["my-project-"]
    assert (project.enabled_runtimes, project.default_runtime, project.source) == (LIMITS.runtimes, "echo", "scan")


@pytest.mark.req("B2")
def test_clashing_names_get_a_number_behind_them(core: CoreHarness):
    names = [core.do(AddProject(directory(f"/{n}/api"))).project for n in "abc"]
    assert names == ["api-2", "api-3", "api-4"]
    long = [core.do(AddProject(directory(f"/{n}/{'x' * 50}"))).project for n in "ab"]
    assert long == ["x" * 40, "x" * 38 + "-2"]


@pytest.mark.req("B2")
@given(st.lists(st.text(max_size=60), max_size=12))
def test_every_directory_finds_a_fitting_name_of_its_own(names: list[str]):
    state = State()
    for number, directory_name in enumerate(names, 1):
        name = free_name(state, f"/srv/{directory_name}")
        assert NAME_PATTERN.fullmatch(name)
        assert name not in state.projects
        state.projects[name] = Project(
            number=number, name=name, path="/x", enabled_runtimes=("echo",), default_runtime="echo"
        )


def test_a_directory_that_is_registered_is_no_error(core: CoreHarness):
    again = core.do(AddProject(directory("/srv/api")))
    assert (again.events, again.project, again.duplicate) == ((), "api", True)
    assert core.refuses(AddProject(directory("/gone", "/gone does not exist."))) == Code.E_INVALID_PATH


@pytest.mark.req("B2")
def test_names_and_numbers_both_lead_to_a_project_and_the_name_wins(core: CoreHarness):
    core.create("1")
    assert core.state.project_named("api").number == 1
    assert core.state.project_named("1").name == "1"
    assert core.state.project_named("#1").name == "api"
    assert core.state.project_named("2").name == "1"
    assert core.state.project_named("3") is None


@pytest.mark.req("A15")
def test_a_hand_edit_is_taken_over_once(core: CoreHarness):
    edit = UpdateProject(name="api", directory=directory("/srv/moved"), runtimes=("claude",), default_runtime="claude")
    assert core.do(edit).events == (
        ProjectUpdated(name="api", path="/srv/moved", enabled_runtimes=("claude",), default_runtime="claude"),
    )
    assert core.do(edit).events == ()
    assert core.state.projects["api"].number == 1


@pytest.mark.req("A15", "A18")
def test_a_hand_edit_that_cannot_be_is_refused(core: CoreHarness):
    where = directory("/srv/api")
    assert (
        core.refuses(UpdateProject(name="web", directory=where, runtimes=("echo",), default_runtime="echo"))
        == Code.E_PROJECT_NOT_FOUND
    )
    assert (
        core.refuses(UpdateProject(name="api", directory=where, runtimes=("emacs",), default_runtime="emacs"))
        == Code.E_INVALID_TOOLSET
    )


def test_a_tool_that_is_not_installed_today_may_stay_enabled(core: CoreHarness):
    core.limits = type(LIMITS)(runtimes=("echo",))
    assert (
        core.do(
            UpdateProject(
                name="api", directory=directory("/srv/api"), runtimes=("echo", "claude"), default_runtime="echo"
            )
        ).refusal
        is None
    )


@pytest.mark.req("A15")
def test_a_project_whose_path_is_gone_is_disabled_and_comes_back_with_it(core: CoreHarness):
    core.do(
        UpdateProject(
            name="api", directory=directory("", "/srv/api is gone"), runtimes=LIMITS.runtimes, default_runtime="echo"
        )
    )
    assert core.state.projects["api"].path == "/srv/api"
    refusal = core.submit(project="api").refusal
    assert refusal is not None
    assert (refusal.code, "is gone" in refusal.message) == (Code.E_INVALID_PATH, True)
    assert core.submit().refusal.code == Code.E_PROJECT_NOT_SELECTED
    core.do(
        UpdateProject(name="api", directory=directory("/srv/api"), runtimes=LIMITS.runtimes, default_runtime="echo")
    )
    assert core.say()


# --- which one is worked in


def switch(project: str, session_key=None) -> SwitchProject:
    return SwitchProject(project, session_key or key_of(), place(), OWNER)


@pytest.mark.req("B15")
def test_the_project_asked_for_wins_then_the_sessions_then_the_persons_then_the_only_one():
    core = CoreHarness(projects=("/srv/api",))
    assert core.job(core.say()).session_key == str(key_of())
    assert core.session().project == "api"
    core.create("web")
    core.create("cli")
    assert core.submit(session_key=thread("t"), conversation=place("t")).refusal.code == Code.E_PROJECT_NOT_SELECTED
    core.do(switch("web"))
    core.say_in("t")
    assert core.session(thread("t")).project == "web"
    core.do(switch("cli"))
    assert (core.session().project, core.session(thread("t")).project) == ("cli", "web")
    core.say(project="api")
    assert core.session().project == "api"


@pytest.mark.req("B15")
def test_when_several_could_be_meant_the_refusal_names_them():
    refusal = CoreHarness(projects=("/srv/api", "/srv/web")).submit().refusal
    assert refusal is not None
    assert refusal.code == Code.E_PROJECT_NOT_SELECTED
    assert "api, web" in refusal.message


@pytest.mark.req("B15")
def test_switching_before_the_first_message_makes_the_session(core: CoreHarness):
    core.create("web", runtimes=("codex",), default="codex")
    core.do(switch("2"))
    assert (core.session().project, core.session().runtime) == ("web", "codex")
    assert core.journal[-1].payload == ProjectSwitched(str(key_of()), OWNER, "web", "codex")
    assert core.say()


@pytest.mark.req("B15", "A18")
def test_switching_to_what_is_not_there_is_refused(core: CoreHarness):
    assert core.refuses(switch("nowhere")) == Code.E_PROJECT_NOT_FOUND
    core.do(
        UpdateProject(name="api", directory=directory("", "gone"), runtimes=LIMITS.runtimes, default_runtime="echo")
    )
    assert core.refuses(switch("api")) == Code.E_INVALID_PATH
