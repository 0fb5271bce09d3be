"""Anything people, agents and channels may do, in any order, with crashes and clocks that jump: what always holds."""

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairlead.core.decide.agent_sessions import AdoptSession, HandOffSession, TakeBackSession
from fairlead.core.decide.delivery import AbandonDelivery, Acknowledge, DeferDelivery, MarkPieceSent
from fairlead.core.decide.job_ends import (
    Cancelled,
    CancelQueued,
    Completed,
    Failure,
    MarkInterrupted,
    TryAgain,
    WithdrawJob,
)
from fairlead.core.decide.messages import AmendJob, RetryJob, SkipMessage
from fairlead.core.decide.projects import SwitchProject, UpdateProject
from fairlead.core.decide.questions import AskPerson, ExpireQuestion, WithdrawQuestion
from fairlead.core.decide.scheduling import BeginAgentTurn, LearnResumeKey, ReportProgress, StartNext
from fairlead.core.decide.sessions import Bind, ChangeRuntime, ResetSession, Touch, Unbind
from fairlead.core.events import JobEnqueued
from fairlead.core.fold import replay
from fairlead.core.job_states import LIVE
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import State, answer_entry_id
from fairlead.errors import Code
from tests.core.harness import (
    FRIEND,
    OWNER,
    STRANGER,
    CoreHarness,
    Entry,
    colour_question,
    conversation_ref,
    directory,
    encoded,
    permission,
    thread,
)

SMALL = Limits(
    allowed_people=(FRIEND,),
    runtimes=("echo", "claude"),
    max_queue_per_session=3,
    max_waiting=2,
)
names = st.sampled_from(["one", "two", "three"])
people = st.sampled_from([OWNER, FRIEND, STRANGER])
runtimes = st.sampled_from(["echo", "claude", "emacs"])
projects = st.sampled_from(["api", "2", "nowhere"])
which = st.integers(0, 3)
outcomes = st.sampled_from([Completed("SECRET answer " * 60), Failure(Code.E_AGENT_ERROR, "broke"), Cancelled(OWNER)])


def pick(things, index: int) -> str:
    """One of the newest, or something that is not there."""
    newest = list(things)[-3:]
    return newest[index] if index < len(newest) else "none"


class AnyOrder(RuleBasedStateMachine):
    @initialize()
    def build(self):
        self.core = CoreHarness(limits=SMALL, projects=("/srv/api", "/srv/web"))
        self.snapshot_at = 0
        self.snapshot = State()

    # --- people

    @rule(name=names, person=people, text=st.sampled_from(["SECRET prompt", " "]), runtime=st.none() | runtimes)
    def say(self, name: str, person: str, text: str, runtime: str | None):
        where = {"conversation": conversation_ref(name), "session_key": thread(name)}
        decision = self.core.submit(text, person=person, project="api", runtime=runtime, **where)
        keyed = [e for e in decision.events if hasattr(e, "message_id")]
        assert len(keyed) == (0 if person == STRANGER or decision.duplicate else 1)

    @rule(name=names, number=st.integers(1000, 1040))
    def say_again(self, name: str, number: int):
        self.core.submit(
            conversation=conversation_ref(name), session_key=thread(name), message_id=str(number), project="1"
        )

    @rule(name=names)
    def skip(self, name: str):
        self.core.do(
            SkipMessage(self.core.inbound(conversation=conversation_ref(name), session_key=thread(name)), "old")
        )

    @rule(index=which, text=st.sampled_from(["SECRET edit", "", "SECRET prompt"]))
    def amend(self, index: int, text: str):
        self.core.do(AmendJob(pick(self.core.state.jobs, index), text))

    @rule(index=which)
    def withdraw(self, index: int):
        self.core.do(WithdrawJob(pick(self.core.state.jobs, index), "deleted"))

    @rule(index=which)
    def cancel_queued(self, index: int):
        self.core.do(CancelQueued(pick(self.core.state.jobs, index), OWNER))

    @precondition(lambda self: self.core.state.jobs)
    @rule(index=which)
    def retry(self, index: int):
        job = self.core.state.jobs.get(pick(self.core.state.jobs, index))
        if job is not None:
            self.core.do(RetryJob(job, "SECRET again", OWNER))

    @rule(name=names, runtime=runtimes)
    def change_runtime(self, name: str, runtime: str):
        self.core.do(ChangeRuntime(str(thread(name)), runtime))

    @rule(name=names, project=projects)
    def switch(self, name: str, project: str):
        self.core.do(SwitchProject(project, thread(name), conversation_ref(name), OWNER))

    @rule(problem=st.sampled_from(["", "gone"]), runtime=st.sampled_from(["echo", "claude"]))
    def edit_project(self, problem: str, runtime: str):
        self.core.do(
            UpdateProject(
                name="api",
                directory=directory("/srv/api", problem),
                runtimes=("echo", runtime),
                default_runtime=runtime,
            )
        )

    @rule(name=names)
    def reset(self, name: str):
        self.core.do(ResetSession(str(thread(name)), OWNER))

    @rule(name=names)
    def hand_off(self, name: str):
        session = self.core.state.sessions.get(str(thread(name)))
        for slot, key in list(session.resume_keys.items())[:1] if session is not None else []:
            runtime, _, path = slot.partition(" ")
            key_of = {"session_key": str(thread(name)), "runtime": runtime, "project_path": path, "key": key}
            self.core.do(HandOffSession(**key_of, person=OWNER))

    @rule(name=names, exchanges=which)
    def take_back(self, name: str, exchanges: int):
        self.core.do(TakeBackSession(session_key=str(thread(name)), person=OWNER, exchanges=exchanges))

    @rule(name=names, key=st.sampled_from(["t1", "t2"]), runtime=runtimes)
    def adopt(self, name: str, key: str, runtime: str):
        self.core.do(
            AdoptSession(session_key=str(thread(name)), runtime=runtime, project_path="/srv/api", key=key, person=OWNER)
        )
        users = [s for s in self.core.state.sessions.values() if key in s.resume_keys.values()]
        assert len(users) <= 1, "two sessions go on with one session of an agent's"

    @rule(name=names, where=names, ttl=st.sampled_from([None, 1000, 86_400_000]))
    def bind(self, name: str, where: str, ttl: int | None):
        self.core.do(
            Bind(
                target_session_key=str(thread(name)),
                target_kind="session",
                conversation=conversation_ref(where),
                ttl_ms=ttl,
            )
        )

    @rule(index=which)
    def touch(self, index: int):
        self.core.do(Touch(pick(self.core.state.bindings, index)))

    @rule(index=which, name=names, whole=st.booleans())
    def unbind(self, index: int, name: str, whole: bool):
        binding = None if whole else pick(self.core.state.bindings, index)
        self.core.do(Unbind("done", binding, str(thread(name)) if whole else None))

    @rule(index=which, person=people, verdict=st.sampled_from(["allow", "deny"]), for_session=st.booleans())
    def answer(self, index: int, person: str, verdict, for_session: bool):
        question = pick(self.core.state.questions, index)
        self.core.do(RespondToQuestion(question_id=question, person=person, verdict=verdict, for_session=for_session))

    # --- agents

    @rule()
    def start(self):
        before = len(self.core.state.running)
        if self.core.do(StartNext()).events:
            assert before < SMALL.global_max_running

    @rule(name=names, turn=st.integers(0, 3))
    def agent_turn(self, name: str, turn: int):
        session = self.core.state.sessions.get(str(thread(name)))
        if session is not None and session.agent_job_id is None:  # an agent has one turn of its own at a time
            self.core.do(BeginAgentTurn(str(thread(name)), session.generation, str(turn)))

    @rule(index=which, outcome=outcomes)
    def end(self, index: int, outcome):
        live = [*self.core.state.running, *self.core.state.waiting]
        self.core.end(pick(live, index), outcome)

    @rule(index=which, key=st.sampled_from(["k1", "k2"]))
    def learn(self, index: int, key: str):
        job_id = pick(self.core.state.jobs, index)
        self.core.do(LearnResumeKey(job_id, key))
        self.core.do(ReportProgress(job_id, 1))

    @rule(index=which)
    def try_again(self, index: int):
        self.core.do(TryAgain(pick(self.core.state.running, index), Code.E_AGENT_ERROR, "why"))

    @rule(index=which, ask=st.sampled_from([permission(), colour_question()]))
    def ask(self, index: int, ask):
        live = [*self.core.state.running, *self.core.state.waiting]
        self.core.do(AskPerson(pick(live, index), ask))

    @rule(index=which, expire=st.booleans())
    def nobody_answers(self, index: int, expire: bool):
        question_id = pick(self.core.state.questions, index)
        question = self.core.state.questions.get(question_id)
        if expire or question is None:
            self.core.do(ExpireQuestion(question_id))
        else:
            self.core.do(WithdrawQuestion(question.job_id, question.request_id))

    # --- channels

    @rule(index=which, pieces=st.integers(0, 3))
    def plan(self, index: int, pieces: int):
        entry_id = pick(self.core.state.outbox, index)
        if entry_id in self.core.state.outbox:
            self.core.plan(entry_id, pieces)

    @rule(index=which, piece=st.integers(0, 3))
    def deliver_piece(self, index: int, piece: int):
        entry_id = pick(self.core.state.outbox, index)
        self.core.do(MarkPieceSent(entry_id, piece, "m"))

    @rule(index=which)
    def remove_entry(self, index: int):
        entry_id = pick(self.core.state.outbox, index)
        entry = self.core.state.outbox.get(entry_id)
        if entry is not None and entry.plan is None:
            self.core.deliver_in_full(entry_id)
        self.core.do(Acknowledge(entry_id))

    @rule(index=which, counts=st.booleans(), give_up=st.booleans())
    def fail_delivery(self, index: int, counts: bool, give_up: bool):
        entry_id = pick(self.core.state.outbox, index)
        self.core.do(DeferDelivery(entry_id=entry_id, wait_sec=5, counts=counts))
        if give_up:
            self.core.do(AbandonDelivery(entry_id, Code.E_UNDELIVERABLE, "locked"))

    # --- the world

    @rule(days=st.sampled_from([0.0, 0.3, 1, 8, 15, -2]))
    def time_passes(self, days: float):
        self.core.later(days=days, seconds=1)

    @rule()
    def crash(self):
        self.core.do(MarkInterrupted())
        assert (self.core.state.running, self.core.state.waiting) == ([], [])

    @rule()
    def take_a_snapshot(self):
        self.snapshot = msgspec.json.decode(encoded(self.core.state), type=State)
        self.snapshot_at = len(self.core.journal)

    # --- what always holds

    @invariant()
    def the_account_adds_up(self):
        state = self.core.state
        live = [job for job in state.jobs.values() if job.is_live]
        assert state.account.received == state.account.settled_total + len(live)
        assert sum(state.live_counts().values()) == len(live)

    @invariant()
    def running_and_waiting_are_what_the_jobs_say(self):
        state = self.core.state
        for name, listed in (("running", state.running), ("waiting", state.waiting)):
            assert sorted(listed) == sorted(j.job_id for j in state.jobs.values() if j.state == name)
        own = [job_id for job_id in state.running if state.jobs[job_id].cause != "agent"]
        assert len(own) <= SMALL.global_max_running
        assert len(state.waiting) <= SMALL.max_waiting

    @invariant()
    def a_session_runs_one_message_at_a_time_in_the_order_they_came(self):
        state = self.core.state
        for session in state.sessions.values():
            mine = [j for j in state.jobs.values() if j.session_key == session.session_key]
            under_way = [j.job_id for j in mine if j.state in {"running", "waiting"} and j.cause != "agent"]
            assert under_way == ([session.running_job_id] if session.running_job_id else [])
            assert session.queue == [j.job_id for j in mine if j.state == "queued"]
            assert session.queue == sorted(session.queue, key=_number)
            assert len(session.queue) <= SMALL.max_queue_per_session
            assert session.ended == [*dict.fromkeys(session.ended)]
            assert all(state.jobs[job_id].state not in LIVE for job_id in session.ended)

    @invariant()
    def nothing_runs_in_a_session_that_was_handed_off(self):
        handed_off = [s for s in self.core.state.sessions.values() if s.hand_off is not None]
        assert [s.session_key for s in handed_off if s.running_job_id or s.agent_job_id] == []

    @invariant()
    def the_indexes_agree_with_what_they_index(self):
        state = self.core.state
        assert set(state.ready) == {s.session_key for s in state.sessions.values() if s.queue}
        assert {b.conversation.address: b.binding_id for b in state.bindings.values()} == state.bound
        assert all(b.target_session_key in state.sessions for b in state.bindings.values())

    @invariant()
    def job_numbers_are_unique_and_rise(self):
        made = [e.payload.job_id for e in self.core.journal if isinstance(e.payload, JobEnqueued)]
        assert [_number(job_id) for job_id in made] == list(range(1, len(made) + 1))

    @invariant()
    def every_ended_job_was_owed_an_answer_until_that_was_settled(self):
        state = self.core.state
        owed, settled = _owed_and_settled(self.core.journal)
        for job in state.jobs.values():
            if job.state not in {*LIVE, "withdrawn"}:
                assert job.job_id in owed
                # an answer that nobody fetched for a week leaves without an event of its own
                fetched_never = job.job_id not in settled and answer_entry_id(job.job_id) not in state.outbox
                assert not fetched_never or job.answer == ""
        assert all(
            entry.plan is None or not entry.plan.pieces or entry.next_index < len(entry.plan.pieces)
            for entry in state.outbox.values()
        )

    @invariant()
    def ended_and_settled_jobs_have_no_text(self):
        state = self.core.state
        for job in state.jobs.values():
            if not job.is_live:
                assert job.prompt == ""
                assert not job.answer or answer_entry_id(job.job_id) in state.outbox
        if not any(job.is_live or job.answer for job in state.jobs.values()):
            without_excerpts = msgspec.json.decode(encoded(state), type=State)
            for job in without_excerpts.jobs.values():
                job.result_excerpt = None
            assert b"SECRET" not in encoded(without_excerpts)

    def teardown(self):
        if not hasattr(self, "core"):
            return
        whole = encoded(self.core.state)
        prefix = State()
        replay(prefix, self.core.journal)
        assert encoded(prefix) == whole
        replay(self.snapshot, self.core.journal[self.snapshot_at :])
        assert encoded(self.snapshot) == whole


def _number(job_id: str) -> int:
    return int(job_id.rpartition("_")[2])


def _owed_and_settled(journal: list[Entry]) -> tuple[set[str], set[str]]:
    owed = {e.payload.job_id for e in journal if type(e.payload).__name__ == "DeliveryOwed"}
    ends = {"DeliveryAcknowledged", "DeliveryAbandoned", "PieceDelivered"}
    settled = {e.payload.entry_id.removeprefix("debt_") for e in journal if type(e.payload).__name__ in ends}
    return owed, settled


AnyOrder.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.req("A7", "A8", "A16", "A17", "D1")
class TestAnyOrder(AnyOrder.TestCase):
    pass
