"""Where a fork begins: the place in the agent's memory before a job, and all that was said so far."""

import pytest

from fairlead.core.decide.job_ends import Completed, EndJob
from fairlead.core.decide.scheduling import LearnResumeKey
from fairlead.core.engine import ForkOrigin
from fairlead.core.events import ForkPlanned, ResumeKeyForgotten
from fairlead.core.fork_origins import find_origin, make_facts_to_set_back
from fairlead.core.ids import ResumeKey
from fairlead.core.state import Job
from tests.core.harness import CoreHarness

pytestmark = pytest.mark.req("F7")


def turn(core: CoreHarness, text: str, *, key: str, point: str) -> Job:
    job_id = core.say(text)
    core.start()
    core.do(LearnResumeKey(job_id, ResumeKey(key)))
    core.do(EndJob(job_id, Completed("done", point=point)))
    return core.job(job_id)


def set_back(core: CoreHarness, job: Job) -> None:
    facts = make_facts_to_set_back(core.state, job)
    assert facts is not None
    for fact in facts:
        core.take(fact)


def test_the_first_job_of_a_session_has_nothing_before_it(core: CoreHarness):
    job = turn(core, "one", key="k", point="p1")
    assert make_facts_to_set_back(core.state, job) == (
        ResumeKeyForgotten(job.session_key, job.generation, "echo", job.project_path),
    )


def test_before_the_second_job_is_where_the_first_ended(core: CoreHarness):
    turn(core, "one", key="k", point="p1")
    job = turn(core, "two", key="k", point="p2")
    assert find_origin(core.session(), "echo", job.project_path) == ForkOrigin(ResumeKey("k"), "p2")
    set_back(core, job)
    assert find_origin(core.session(), "echo", job.project_path) == ForkOrigin(ResumeKey("k"), "p1")
    again = core.say("another two")
    core.start()
    assert (core.job(again).resume_key, core.job(again).fork) == ("", ForkOrigin(ResumeKey("k"), "p1"))


def test_the_origin_is_kept_until_the_agent_has_answered(core: CoreHarness):
    turn(core, "one", key="k", point="p1")
    set_back(core, turn(core, "two", key="k", point="p2"))
    job = turn(core, "three", key="k2", point="p3")
    assert (core.session().forks, core.session().points) == ({}, {f"echo {job.project_path}": "p3"})
    assert make_facts_to_set_back(core.state, job) == (
        ForkPlanned(
            session_key=job.session_key,
            generation=0,
            runtime="echo",
            project_path=job.project_path,
            fork=ForkOrigin(ResumeKey("k"), "p1"),
        ),
    )


def test_where_the_agent_names_no_point_the_place_before_a_job_is_not_known(core: CoreHarness):
    turn(core, "one", key="k", point="")
    job = turn(core, "two", key="k", point="")
    assert make_facts_to_set_back(core.state, job) is None
    assert find_origin(core.session(), "echo", job.project_path) == ForkOrigin(ResumeKey("k"))


def test_a_turn_that_does_not_say_where_it_ended_takes_the_point_away(core: CoreHarness):
    turn(core, "one", key="k", point="p1")
    job = turn(core, "two", key="k", point="")
    assert find_origin(core.session(), "echo", job.project_path) == ForkOrigin(ResumeKey("k"))
