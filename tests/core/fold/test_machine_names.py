"""A machine that gets another name: everything that named it follows, and nothing else changes."""

import json

import pytest

from fairlead.core import events as e
from fairlead.core.agent_sessions import HandOff
from fairlead.core.budgets import AgentSpending, DaySpending
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.machines import RenameMachine, rename_machine
from fairlead.core.engine import ForkOrigin
from fairlead.core.fold.machine_names import machine_renamed
from fairlead.core.hooks import HookFields
from fairlead.core.ids import EntryId, JobId, MessageId, ResumeKey, SessionKeyText
from fairlead.core.machines.machine import Machine
from fairlead.core.state import Job, OutboxEntry, Person, Project, Session, State, UndoRecord, as_data
from fairlead.core.worktrees import DiscardedWorktree, Worktree
from fairlead.errors import Code
from tests.core.harness import LIMITS, key_of

pytestmark = pytest.mark.req("H1", "H2")

KEY = SessionKeyText(key_of().text)
HERE = ConversationRef("chat", "acc", "dm")
SLOT = "gpu/claude gpu:/srv/trainer"
NOW = "2026-01-05T08:00:00.000Z"


def a_project(name: str, path: str, agent: str, number: int) -> Project:
    return Project(
        number=number, name=name, path=path, enabled_runtimes=(agent,), default_runtime=agent,
        default_args={agent: ("-v",)}, created_at=NOW, updated_at=NOW, workspace=name,
    )  # fmt: skip


def a_session(project: str, agent: str, slot: str) -> Session:
    return Session(
        session_key=KEY, session_id="s1", project=project, runtime=agent, conversation=HERE,
        resume_keys={slot: ResumeKey("r1")}, unproven=[slot], models={agent: "large"},
        forks={slot: ForkOrigin(ResumeKey("r0"))}, points={slot: "p1"},
        hand_off=HandOff(
            runtime=agent, project_path=slot.partition(" ")[2], key=ResumeKey("r1"), person="42", at=NOW
        ),
    )  # fmt: skip


def a_job(path: str, project: str, agent: str, state: str = "success") -> Job:
    return Job(
        job_id=JobId("job_20260105_0001"), session_key=KEY, session_id="s1", conversation=HERE,
        message_id=MessageId("m1"), person="42", state=state, prompt="look at gpux/ and gpu-2:/x", enqueued_at=NOW,  # pyright: ignore[reportArgumentType]
        runtime=agent, project=project, project_path=path,
    )  # fmt: skip


def everything_on_gpu() -> State:
    opening = e.ThreadOpening(
        asked_by="m1", person="42", project="gpu/trainer", runtime="gpu/claude", agent_id="fairlead", space_id="1"
    )
    job = a_job("gpu:/srv/trainer", "gpu/trainer", "gpu/claude")
    return State(
        machines={
            "gpu": Machine(name="gpu", machine_id="a1", runner_id="r", runner_epoch=3),
            "gpu-2": Machine(name="gpu-2", machine_id="b2"),
        },
        projects={
            "api": a_project("api", "/srv/gpu", "claude", 1),
            "gpu/trainer": a_project("gpu/trainer", "gpu:/srv/trainer", "gpu/claude", 2),
            "gpu-2/trainer": a_project("gpu-2/trainer", "gpu-2:/srv/trainer", "gpu-2/claude", 3),
        },
        people={"42": Person(project="gpu/trainer"), "43": Person(project="api")},
        sessions={KEY: a_session("gpu/trainer", "gpu/claude", SLOT)},
        jobs={job.job_id: job},
        worktrees={
            1: Worktree(
                number=1, session_key=KEY, project="gpu/trainer", person="42", repository="gpu:/srv/trainer",
                path="gpu:/wt/1", branch="fairlead/x", status="ready", directory="gpu:/wt/1",
                common_dir="gpu:/srv/trainer/.git",
            )
        },
        discarded_worktrees={
            2: DiscardedWorktree(
                number=2, session_key=KEY, project="gpu/trainer", repository="gpu:/srv/trainer", branch="fairlead/y",
                ref="r", commit="c",
            )
        },
        undos={
            "undo_1": UndoRecord(
                undo_id="undo_1", session_key=KEY, job_ids=(job.job_id,), project_path="gpu:/srv/trainer", person="42",
                what="both", is_over=True,
            )
        },
        hooks={
            "ci": HookFields(
                name="ci", form="github", person="42", conversation=HERE, session_key=KEY, project="gpu/trainer",
                runtime="gpu/claude",
            )
        },
        outbox={
            EntryId("debt_1"): OutboxEntry(
                entry_id=EntryId("debt_1"), kind="thread", session_key=KEY, requester=HERE, owed_at=NOW, opening=opening
            )
        },
        spending={"2026-01-05": {"gpu/trainer": DaySpending(1.0, 5, (AgentSpending("gpu/claude", 1.0, 5),))}},
    )  # fmt: skip


def written(state: State) -> str:
    return json.dumps(as_data(state), sort_keys=True, default=str)


def test_everything_that_names_the_machine_has_its_new_name_and_nothing_else_has_changed():
    state = everything_on_gpu()
    wanted = (
        written(state)
        .replace('"workspace": "gpu/trainer"', '"workspace": "KEPT"')
        .replace('"gpu"', '"big"')
        .replace("gpu/trainer", "big/trainer")
        .replace("gpu/claude", "big/claude")
        .replace("gpu:/", "big:/")
        .replace('"workspace": "KEPT"', '"workspace": "gpu/trainer"')
    )
    machine_renamed(state, NOW, e.MachineRenamed("gpu", "big", "42"))
    assert sorted(json.loads(written(state)).items()) == sorted(json.loads(wanted).items())
    assert list(state.machines) == ["big", "gpu-2"]
    assert state.projects["big/trainer"].workspace_name == "gpu/trainer"  # its PERMISSIONS.json must not be left behind


def test_a_rename_back_gives_the_state_that_was():
    state = everything_on_gpu()
    before = written(state)
    machine_renamed(state, NOW, e.MachineRenamed("gpu", "big", "42"))
    machine_renamed(state, NOW, e.MachineRenamed("big", "gpu", "42"))
    assert json.loads(written(state)) == json.loads(before)


@pytest.mark.parametrize(
    ("name", "new_name", "code"),
    [
        ("cpu", "big", Code.E_MACHINE_NOT_FOUND),
        ("gpu", "Big One", Code.E_INVALID_NAME),
        ("gpu", "daemon", Code.E_INVALID_NAME),
        ("gpu", "gpu-2", Code.E_INVALID_NAME),
        ("gpu", "old", Code.E_INVALID_NAME),
    ],
)
def test_a_name_that_is_taken_or_cannot_be_one_is_refused(name: str, new_name: str, code: Code):
    state = everything_on_gpu()
    state.projects["old/x"] = a_project("old/x", "old:/x", "old/claude", 9)  # of a machine that was removed
    decision = rename_machine(state, RenameMachine(name=name, new_name=new_name, person="42"), NOW, LIMITS)
    assert decision.refusal is not None
    assert decision.refusal.code is code


def test_it_is_refused_while_a_turn_runs_there_and_not_for_one_that_waits():
    state = everything_on_gpu()
    rename = RenameMachine(name="gpu", new_name="big", person="42")
    job_id = next(iter(state.jobs))
    state.jobs[job_id].state = "running"
    state.running.append(job_id)
    refusal = rename_machine(state, rename, NOW, LIMITS).refusal
    assert refusal is not None
    assert (refusal.code, job_id in refusal.message) == (Code.E_MACHINE_IN_USE, True)
    state.jobs[job_id].state = "queued"
    state.running.clear()
    assert rename_machine(state, rename, NOW, LIMITS).events == (e.MachineRenamed("gpu", "big", "42"),)
