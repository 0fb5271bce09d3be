"""The whole core in memory: decide, number, apply, and a clock that the story moves. No disk, no task, no channel."""

from typing import Any

import msgspec

from fairlead.core import timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide import Command, Decision, decide
from fairlead.core.decide.delivery import MarkPieceSent, PlanDelivery
from fairlead.core.decide.job_ends import Cancelled, Completed, EndJob, Failure, Outcome
from fairlead.core.decide.messages import RetryJob, Submit
from fairlead.core.decide.projects import AddProject, CreateProject, DirectoryFacts
from fairlead.core.decide.questions import AskPerson
from fairlead.core.decide.scheduling import StartNext
from fairlead.core.decide.sessions import BeginService, FoundState, SeePerson, StartSession
from fairlead.core.engine import Ask, AskedItem, Option, PermissionRequested, QuestionRequested
from fairlead.core.events import JournalEvent, Piece
from fairlead.core.fold import apply
from fairlead.core.inbound import Inbound
from fairlead.core.job_states import TRANSITIONS
from fairlead.core.keys import SessionKey, thread_key, user_key
from fairlead.core.limits import Limits
from fairlead.core.routing import resolve_destination
from fairlead.core.state import Job, Session, State, answer_entry_id
from fairlead.errors import Code

OWNER = "42"
FRIEND = "7"
STRANGER = "666"
LIMITS = Limits(allowed_people=(FRIEND,), runtimes=("echo", "claude", "codex"))
MOVES = {(move.before, move.after, move.event) for move in TRANSITIONS}
BEGINNING = "2026-03-01T08:00:00.000Z"


class Entry(msgspec.Struct):
    seq: int
    ts: str
    payload: JournalEvent


def directory(path: str, problem: str = "") -> DirectoryFacts:
    return DirectoryFacts(path, path, problem)


def conversation_ref(name: str = "den", channel: str = "toy") -> ConversationRef:
    return ConversationRef(channel, "fairlead", name)


def key_of(user: str = OWNER) -> SessionKey:
    return user_key(agent_id="fairlead", user_id=user)


def thread(name: str) -> SessionKey:
    return thread_key(agent_id="fairlead", space_id="guild", thread_id=name)


def permission(detail: str = "rm -rf build", request_id: str = "r1") -> PermissionRequested:
    return PermissionRequested(request_id=request_id, tool="Bash", title="Run a command", detail=detail)


def colour_question(request_id: str = "r1") -> QuestionRequested:
    return QuestionRequested(request_id, (AskedItem("Which colour?", (Option("red"), Option("blue"))),))


class CoreHarness:
    def __init__(self, *, limits: Limits = LIMITS, projects: tuple[str, ...] = ("/srv/api",)) -> None:
        self.state = State()
        self.limits = limits
        self.now = BEGINNING
        self.journal: list[Entry] = []
        self.messages = 0
        self.do(FoundState("abcd", "1.0"))
        self.do(BeginService("1.0", 1, OWNER))
        for path in projects:
            self.do(AddProject(directory(path)))

    def decide(self, command: Command) -> Decision:
        return decide(self.state, command, self.now, self.limits)

    def do(self, command: Command) -> Decision:
        decision = self.decide(command)
        for event in decision.events:
            self.take(event)
        return decision

    def take(self, event: JournalEvent, ts: str | None = None) -> None:
        entry = Entry(self.state.seq + 1, ts or self.now, event)
        self.journal.append(entry)
        before = {job_id: job.state for job_id, job in self.state.jobs.items()}
        apply(self.state, entry.seq, entry.ts, event)
        for job_id, job in self.state.jobs.items():  # in whatever story: no move but those of the table
            move = (before.get(job_id), job.state, type(event))
            assert move[0] == move[1] or move in MOVES, f"{job_id} made a move that the table does not have: {move}"

    def refuses(self, command: Command) -> Code:
        """The code of the refusal; it must leave nothing behind."""
        decision = self.do(command)
        assert decision.refusal is not None
        assert not decision.events
        return decision.refusal.code

    def later(self, *, days: float = 0, seconds: float = 0) -> None:
        """The clock goes on, or is set. Nothing happens meanwhile, so no day is lived through."""
        self.now = timestamps.plus(self.now, days * 86400 + seconds)

    def live(self, days: int) -> None:
        """Days pass, with an event on each."""
        for _ in range(days):
            self.later(days=1)
            self.do(SeePerson("somebody", f"x{self.state.seq}"))

    # --- what people do

    def inbound(self, text: str = "hello", **more: Any) -> Inbound:
        self.messages += 1
        given = {
            "conversation": conversation_ref(),
            "session_key": key_of(),
            "message_id": str(1000 + self.messages),
            "person": OWNER,
            "text": text,
        }
        return Inbound(**(given | more))

    def submit(self, text: str = "hello", **more: Any) -> Decision:
        return self.do(Submit(self.inbound(text, **more)))

    def say(self, text: str = "hello", **more: Any) -> str:
        decision = self.submit(text, **more)
        assert decision.refusal is None, decision.refusal
        return decision.job_id

    def say_in(self, name: str, text: str = "hello", **more: Any) -> str:
        """In a thread of its own."""
        return self.say(text, conversation=conversation_ref(name), session_key=thread(name), **more)

    def create(self, name: str, *, runtimes: tuple[str, ...] = ("echo",), default: str = "echo") -> Decision:
        return self.do(
            CreateProject(name=name, directory=directory(f"/srv/{name}"), runtimes=runtimes, default_runtime=default)
        )

    def start_thread(self, name: str, **more: Any) -> Decision:
        return self.do(
            StartSession(session_key=thread(name), conversation=conversation_ref(name), person=OWNER, **more)
        )

    def retry(self, job_id: str) -> Decision:
        return self.do(RetryJob(self.job(job_id), "the same again", OWNER))

    # --- what the agent and the daemon do

    def start(self) -> str:
        return self.do(StartNext()).job_id

    def end(self, job_id: str, outcome: Outcome) -> Decision:
        return self.do(EndJob(job_id, outcome))

    def complete(self, job_id: str, text: str = "done") -> None:
        assert self.end(job_id, Completed(text)).events

    def fail(self, job_id: str) -> None:
        assert self.end(job_id, Failure(Code.E_AGENT_ERROR, "it broke")).events

    def cancel(self, job_id: str) -> None:
        assert self.end(job_id, Cancelled(OWNER)).events

    def failed_job(self) -> str:
        job_id = self.say()
        self.start()
        self.fail(job_id)
        return job_id

    def ask(self, job_id: str, ask: Ask | None = None) -> str:
        return self.do(AskPerson(job_id, ask or permission())).question_id

    def deliver(self, job_id: str) -> None:
        self.deliver_in_full(answer_entry_id(job_id))

    def deliver_in_full(self, entry_id: str, pieces: int = 1) -> None:
        self.plan(entry_id, pieces)
        for index in range(pieces):
            self.do(MarkPieceSent(entry_id, index, f"m{index}"))

    def plan(self, entry_id: str, pieces: int = 1) -> Decision:
        entry = self.state.outbox[entry_id]
        to = resolve_destination(
            self.state,
            target_session_key=entry.session_key,
            requester=entry.requester,
            fail_closed=entry.fail_closed,
            now=self.now,
        )
        return self.do(PlanDelivery(entry_id, to, tuple(Piece(f"piece {n}") for n in range(pieces))))

    def turn(self, text: str = "hello", **more: Any) -> str:
        """One message from its arrival to its delivered answer."""
        job_id = self.say(text, **more)
        assert self.start() == job_id
        self.complete(job_id, f"answer to {text}")
        self.deliver(job_id)
        return job_id

    # --- what there is

    def job(self, job_id: str) -> Job:
        return self.state.jobs[job_id]

    def session(self, key: SessionKey | None = None) -> Session:
        return self.state.sessions[str(key or key_of())]

    def types(self, since: int = 0) -> list[str]:
        return [type(entry.payload).__name__ for entry in self.journal[since:]]


def encoded(state: State) -> bytes:
    return msgspec.json.encode(state)


def folded(entries: list[Entry]) -> State:
    state = State()
    for entry in entries:
        apply(state, entry.seq, entry.ts, entry.payload)
    return state
