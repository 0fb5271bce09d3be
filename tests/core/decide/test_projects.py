"""Projects: names, numbers, tools, and which one is worked in."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.job_ends import CancelQueued
from fairlead.core.decide.projects import (
    NAME_PATTERN,
    AddProject,
    CreateProject,
    FollowAgents,
    RemoveProject,
    RenameProject,
    SwitchProject,
    UpdateProject,
    free_name,
)
from fairlead.core.events import ProjectCreated, ProjectSwitched, ProjectUpdated, ToolChanged
from fairlead.core.state import Project, State
from fairlead.errors import Code
from tests.core.harness import LIMITS, OWNER, CoreHarness, conversation_ref, directory, folded, key_of, thread


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
        ({"args": {"echo": ("-x", "a\0b")}}, Code.E_INVALID_ARGS),
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
        ProjectUpdated(
            name="api",
            path="/srv/moved",
            enabled_runtimes=("claude",),
            default_runtime="claude",
            tools_chosen=True,
        ),
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
    return SwitchProject(project, session_key or key_of(), conversation_ref(), OWNER)


@pytest.mark.req("B15")
def test_the_project_asked_for_wins_then_the_sessions_then_the_persons_then_the_only_one():
    core = CoreHarness(projects=("/srv/api",))
    assert core.job(core.say()).session_key == str(key_of())
    assert core.session().project == "api"
    core.create("web")
    core.create("cli")
    assert (
        core.submit(session_key=thread("t"), conversation=conversation_ref("t")).refusal.code
        == Code.E_PROJECT_NOT_SELECTED
    )
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


# --- renamed and removed


@pytest.mark.req("A12")
def test_a_renamed_project_keeps_its_number_its_sessions_its_jobs_and_its_workspace(core: CoreHarness):
    running, queued = core.say(project="api"), core.say(project="api")
    core.start()
    assert core.do(RenameProject("1", "shop")).project == "shop"
    project = core.state.projects["shop"]
    assert (project.number, project.path, project.workspace_name) == (1, "/srv/api", "api")
    assert core.session().project == "shop"
    assert [core.job(job_id).project for job_id in (running, queued)] == ["shop", "shop"]
    core.complete(running)
    assert core.start() == queued
    assert core.state.project_named("api") is None
    assert folded(core.journal) == core.state


@pytest.mark.req("A12", "A18")
@pytest.mark.parametrize(
    ("project", "new_name", "code"),
    [
        ("api", "Shop", Code.E_INVALID_NAME),
        ("api", "web", Code.E_PROJECT_EXISTS),
        ("nowhere", "shop", Code.E_PROJECT_NOT_FOUND),
    ],
)
def test_a_rename_that_cannot_be_is_refused(core: CoreHarness, project: str, new_name: str, code: Code):
    core.create("web")
    assert core.refuses(RenameProject(project, new_name)) == code


def test_a_name_whose_workspace_is_in_use_is_not_given_to_another_directory(core: CoreHarness):
    """The other directory would get the permissions that somebody wrote for the first one."""
    core.do(RenameProject("api", "shop"))
    assert core.do(AddProject(directory("/other/api"))).project == "api-2"
    assert core.refuses(creating("api")) == Code.E_PROJECT_EXISTS
    assert core.do(RenameProject("shop", "api")).project == "api"


@pytest.mark.req("A12")
def test_where_there_is_no_project_at_all_a_person_is_told_how_to_add_one(core: CoreHarness):
    there_is_one = core.submit(project="shop").refusal
    core.do(RemoveProject("api", OWNER))
    there_is_none = core.submit(project="shop").refusal
    assert there_is_one is not None
    assert there_is_none is not None
    assert (there_is_one.code, there_is_one.next_step) == (Code.E_PROJECT_NOT_FOUND, "")
    assert (there_is_none.code, there_is_none.next_step) == (
        Code.E_PROJECT_NOT_FOUND, "No project is registered yet. `/project add PATH` registers one.",
    )  # fmt: skip


@pytest.mark.req("A12")
def test_a_removed_project_is_chosen_by_nobody_and_what_was_done_in_it_stays(core: CoreHarness):
    job_id = core.turn(project="api")
    core.do(RemoveProject("api", OWNER))
    assert core.state.listed_projects() == []
    assert core.job(job_id).project == "api"
    refusal = core.submit().refusal
    assert refusal is not None
    assert (refusal.code, refusal.message) == (Code.E_PROJECT_NOT_FOUND, "Project api was removed.")
    by_number = core.submit(project="#1").refusal
    assert by_number is not None
    assert by_number.message == "Project api was removed."
    assert core.refuses(SwitchProject("1", key_of(), conversation_ref(), OWNER)) == Code.E_PROJECT_NOT_FOUND
    assert folded(core.journal) == core.state


@pytest.mark.req("A12")
@pytest.mark.parametrize("started", [True, False])
def test_a_project_is_not_removed_while_a_job_is_live_in_it(core: CoreHarness, started: bool):
    job_id = core.say()
    if started:
        core.start()
    assert core.refuses(RemoveProject("api", OWNER)) == Code.E_PROJECT_IN_USE
    core.cancel(job_id) if started else core.do(CancelQueued(job_id, OWNER))
    assert core.do(RemoveProject("api", OWNER)).events


@pytest.mark.req("A12", "B2")
def test_a_directory_that_is_added_again_gets_its_project_back_but_not_from_an_old_setting(core: CoreHarness):
    core.turn(project="api")
    core.do(RenameProject("api", "shop"))
    core.do(RemoveProject("shop", OWNER))
    assert core.do(AddProject(directory("/srv/api"), source="PROJECTS")).events == ()
    assert core.do(AddProject(directory("/srv/other/shop"))).project == "shop-2"
    assert core.do(AddProject(directory("/srv/api"))).project == "shop"
    back = core.state.projects["shop"]
    assert (back.number, back.removed, back.workspace_name) == (1, False, "api")
    assert core.submit().refusal is None


def test_switching_to_where_one_is_already_writes_nothing(core: CoreHarness):
    switch = SwitchProject("api", key_of(), conversation_ref(), OWNER)
    assert core.do(switch).events
    assert core.do(switch).events == ()


# --- agents that are installed later


ONLY_ECHO = msgspec.structs.replace(LIMITS, runtimes=("echo",))
WITH_CLAUDE = msgspec.structs.replace(LIMITS, runtimes=("claude", "codex", "echo"))


@pytest.mark.req("A12", "B2")
def test_a_project_that_only_had_echo_moves_to_the_first_real_agent_with_its_sessions():
    core = CoreHarness(limits=ONLY_ECHO)
    core.turn()
    core.limits = WITH_CLAUDE
    core.do(FollowAgents())
    project = core.state.projects["api"]
    assert (project.enabled_runtimes, project.default_runtime) == (("claude", "codex", "echo"), "claude")
    assert core.journal[-1].payload == ToolChanged(str(key_of()), "claude")
    assert core.session().runtime == "claude"
    assert core.do(FollowAgents()).events == ()
    assert folded(core.journal) == core.state


@pytest.mark.req("A12")
def test_a_project_with_a_real_agent_gets_the_new_ones_and_keeps_its_own(core: CoreHarness):
    core.limits = msgspec.structs.replace(LIMITS, runtimes=("gemini", "claude", "echo"))
    core.do(FollowAgents())
    project = core.state.projects["api"]
    assert project.enabled_runtimes == ("gemini", "claude", "echo", "codex")
    assert project.default_runtime == LIMITS.runtimes[0]


@pytest.mark.req("A12")
def test_agents_that_somebody_chose_stay_as_they_are(core: CoreHarness):
    core.create("web", runtimes=("echo",), default="echo")
    core.do(UpdateProject(name="api", directory=directory("/srv/api"), runtimes=("echo",), default_runtime="echo"))
    core.limits = WITH_CLAUDE
    assert core.do(FollowAgents()).events == ()


@pytest.mark.req("A7", "A12")
@pytest.mark.parametrize(
    ("enabled", "updated", "follows"),
    [
        (("echo",), False, True),
        (("echo",), True, True),
        (("gemini", "echo"), False, True),
        (("gemini", "echo"), True, False),
        (("gemini",), False, False),
    ],
)
def test_a_list_that_an_earlier_version_wrote_is_a_default_if_it_names_echo_and_nobody_changed_it(
    enabled: tuple[str, ...], updated: bool, follows: bool
):
    core = CoreHarness(projects=())
    core.take(
        ProjectCreated(number=1, name="api", path="/srv/api", enabled_runtimes=enabled, default_runtime=enabled[0])
    )
    core.later(seconds=5)
    if updated:
        core.take(ProjectUpdated(name="api", path="/srv/api", enabled_runtimes=enabled, default_runtime=enabled[0]))
    core.limits = WITH_CLAUDE
    assert bool(core.do(FollowAgents()).events) == follows
