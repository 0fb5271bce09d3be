"""Agents that send and ask by themselves, in random histories; and the bugs in that which the judge must catch."""

import msgspec
import pytest

from fairlead.core import fold
from fairlead.core.decide import agent_calls as deciding_calls
from fairlead.core.decide import job_ends, scheduling
from fairlead.core.decide import questions as deciding_questions
from fairlead.core.events import AgentToolCalled, JobEnqueued
from fairlead.core.fold import agent_calls as folding_calls
from fairlead.flow.ledger import Ledger
from fairlead.testing.agent_callers import everybody_and_callers
from fairlead.testing.simulator import simulate

SEEDS = 40
AT_A_TIME = 10


@pytest.mark.req("D4", "A8")
@pytest.mark.parametrize("first", range(0, SEEDS, AT_A_TIME))
def test_what_agents_send_and_ask_is_neither_lost_nor_done_twice(first: int):
    reports = [simulate(seed, actors=everybody_and_callers) for seed in range(first, first + AT_A_TIME)]
    for report in reports:
        assert not report.violations, str(report)
    assert sum(report.happened.get("calls of agents", 0) for report in reports) > 2 * AT_A_TIME


def caught(words: str) -> None:
    """A bug is caught if some world accuses it with these words."""
    found: set[str] = set()
    for seed in range(SEEDS):
        found.update(simulate(seed, actors=everybody_and_callers).violations)
        if any(words in violation for violation in found):
            return
    pytest.fail(f"nobody noticed; accused instead: {sorted(found)[:5]}")


def test_a_call_that_is_forgotten_and_done_again_is_caught(monkeypatch: pytest.MonkeyPatch):
    remembered = folding_calls.agent_tool_called

    def forget(state, ts, event):
        remembered(state, ts, event)
        state.sessions[event.session_key].calls.clear()

    monkeypatch.setitem(fold._RULES, AgentToolCalled, forget)
    caught("was done 2 times")


def test_a_call_that_is_acknowledged_before_it_is_durable_is_caught(monkeypatch: pytest.MonkeyPatch):
    wait = Ledger.record_durably

    async def hurry(self, command):
        if isinstance(command, deciding_calls.SendForAgent | deciding_calls.AskForAgent):
            return self.apply_now(command)
        return await wait(self, command)

    monkeypatch.setattr(Ledger, "record_durably", hurry)
    caught("was acknowledged before it was durable")


def test_words_that_reach_another_session_are_caught(monkeypatch: pytest.MonkeyPatch):
    def confuse(state, session):
        del session
        return next(iter(state.jobs.values()), None)

    monkeypatch.setattr(deciding_calls, "_job_of", confuse)
    caught("was seen at")


def test_a_question_that_is_closed_with_its_job_is_caught(monkeypatch: pytest.MonkeyPatch):
    def close_all(state, job):
        return tuple(
            job_ends.QuestionClosed(q.question_id, "job_ended")
            for q in state.questions.values()
            if q.job_id == job.job_id and q.status == "open"
        )

    monkeypatch.setattr(job_ends, "_close_questions", close_all)
    caught("although its agent did not wait")


def test_a_response_that_begins_no_turn_is_caught(monkeypatch: pytest.MonkeyPatch):
    respond = deciding_questions._respond_by_message

    def lose(*args):
        decision = respond(*args)
        return msgspec.structs.replace(
            decision, events=tuple(event for event in decision.events if not isinstance(event, JobEnqueued))
        )

    monkeypatch.setattr(deciding_questions, "_respond_by_message", lose)
    caught("0 turns began for it")


def test_a_job_that_waits_for_a_question_of_which_it_knows_nothing_is_caught(monkeypatch: pytest.MonkeyPatch):
    def has_open_question(state, job_id):
        return any(q.job_id == job_id and q.status == "open" for q in state.questions.values())

    monkeypatch.setattr(scheduling, "has_open_question", has_open_question)
    caught("still not quiet")
