"""Facts of the journal as sentences, in four languages."""

import re
from collections.abc import Iterator

import pytest

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import ForkOrigin
from fairlead.core.events import EVENT_TYPES, JobFailed
from fairlead.core.inbound import Attachment
from fairlead.core.rules import RuleOffer
from fairlead.core.spawns import SpawnOrder
from fairlead.core.trees import ChangeSummary, TreeSnapshot
from fairlead.ports import NAMING_FIELDS
from fairlead.render.story import StorySentence, describe_event, say_step, sentence_of
from fairlead.render.words import CATALOGUES, MISSING

HERE = ConversationRef("discord", "7", "1359", "1300")
OWN, THREAD = "agent:fairlead:user:local", "agent:fairlead:thread:1:1359"
OFFER = RuleOffer("Bash", "prefix", "pytest")


def job(number: int) -> str:
    return f"job_20261117_{number:04d}"


def enqueued(session_key: str = OWN, **fields: object) -> e.JobEnqueued:
    given = {"job_id": job(14), "message_id": "9", "person": "local", "prompt": "fix it"} | fields
    return e.JobEnqueued(session_key=session_key, conversation=HERE, **given)


def asked(kind: str, title: str = "Bash") -> e.QuestionAsked:
    return e.QuestionAsked(
        question_id="q",
        job_id=job(1),
        session_key=OWN,
        kind=kind,
        title=title,
        detail="ls",
        deadline="",
        request_id="r",
    )


def answered(**fields: object) -> e.QuestionAnswered:
    return e.QuestionAnswered(**{"question_id": "q", "verdict": "allow", "person": "local", "via": "here", **fields})


def spawned(*, by_agent: bool) -> e.SessionSpawned:
    order = SpawnOrder(parent_session_key=OWN, conversation=HERE, person="local", task="", by_agent=by_agent)
    return e.SessionSpawned(session_key=OWN, asked_by="1", order=order, returns="session")


def ticked(outcome: str, **fields: str) -> e.ScheduleTicked:
    return e.ScheduleTicked(number=2, tick="09:00", outcome=outcome, due="", job_id=job(1), **fields)


def decided(choice: str) -> e.BudgetDecided:
    return e.BudgetDecided(project="api", day="2026-11-17", choice=choice, person="local")


def owed(kind: str) -> e.DeliveryOwed:
    return e.DeliveryOwed(entry_id="d", kind=kind, session_key=OWN, requester=HERE)


def planned(**fields: object) -> e.DeliveryPlanned:
    return e.DeliveryPlanned(**{"entry_id": "d", "destination": HERE, "route": "bound", "reason": "", **fields})


PIECES = (e.Piece("one"), e.Piece("two"))
LOST = "no active binding; back to the requester"
SENTENCES: dict[str, tuple[e.JournalEvent, ...]] = {
    "accepted as #14: fix it": (enqueued(),),
    "accepted as #14 (attempt 2, after #13) in " + THREAD: (enqueued(THREAD, attempt=2, retry_of=job(13), prompt=""),),
    "the message was edited: fix that": (e.JobAmended(job(1), "fix that"),),
    "attached files stored: 1": (e.AttachmentsStored(job(1), (Attachment(name="a.txt"),)),),
    "claude started in api with a new conversation": (
        e.JobStarted(job_id=job(1), session_key=OWN, runtime="claude", project="api", project_path="/srv/api"),
    ),
    "claude started in api and resumes its conversation": (
        e.JobStarted(
            job_id=job(1), session_key=OWN, runtime="claude", project="api", project_path="/srv/api", resume_key="k"
        ),
    ),
    "the agent was given the prompt": (e.JobHandedOver(job(1)),),
    "Fairlead stopped before the agent had the prompt; the job is first in its queue again": (
        e.JobRequeued(job(1), OWN),
    ),
    "tools started so far: 0": (e.JobProgress(job(1)),),
    "tried a second time after E_AGENT_ERROR: Overloaded": (e.JobTriedAgain(job(1), "E_AGENT_ERROR", "Overloaded"),),
    "the agent continues with the response": (e.JobContinued(job(1)),),
    "answered: It is fixed.": (
        e.JobCompleted(job_id=job(1), session_key=OWN, text="It is fixed. Much more.", excerpt="It is fixed."),
    ),
    "cancelled by local (reset)": (e.JobCancelled(job(1), OWN, "local", "reset"),),
    "cancelled": (e.JobCancelled(job(1), OWN, ""),),
    "withdrawn: message deleted": (e.JobWithdrawn(job(1), "message deleted"),),
    "was running when Fairlead stopped; what the agent did until then is unknown": (
        e.JobMarkedUnknownAfterCrash(job(1), OWN),
    ),
    "refused with E_QUEUE_FULL": (
        e.MessageRefused(conversation=HERE, message_id="9", person="local", error_code="E_QUEUE_FULL"),
    ),
    "skipped: older than FAIRLEAD_CATCH_UP_HOURS": (
        e.MessageSkipped(HERE, "9", "local", "older than FAIRLEAD_CATCH_UP_HOURS"),
    ),
    "the agent asked for permission: Bash ls": (asked("permission"),),
    "the agent asked for permission: Run ls": (asked("permission", "Run ls"),),
    "the agent asked to approve its plan: Bash ls": (asked("plan"),),
    "the agent asked: Bash ls": (asked("question"),),
    "local allowed it once (here)": (answered(),),
    "local allowed it for this session (here)": (answered(for_session=True),),
    "local allowed it from now on (here)": (answered(always=1),),
    "local answered: tabs; 4 (here)": (answered(chosen={"a": "tabs", "b": "4"}),),
    "local denied it, because: not now (here)": (answered(verdict="deny", message="not now"),),
    "local denied it (here)": (answered(verdict="deny"),),
    "local chose tabs": (e.ChoiceMade("q", "local", {"a": "tabs"}),),
    "nobody answered in time, which means no": (e.QuestionClosed("q", "expired"),),
    "the agent withdrew the question": (e.QuestionClosed("q", "withdrawn"),),
    "the question closed, because the job ended": (e.QuestionClosed("q", "job_ended"),),
    "local made rule 3: pytest … in api": (
        e.StandingRuleMade(
            number=3, project="api", offer=OFFER, session_key=OWN, person="local", job_id=job(1), question_id="q"
        ),
    ),
    "allowed by rule 3 (pytest …) without asking: Bash pytest -x": (
        e.StandingRuleUsed(number=3, job_id=job(1), offer=OFFER, tool="Bash", detail="pytest -x"),
    ),
    "local removed rule 3": (e.StandingRuleRemoved(3, "local"),),
    "a process of the agent was refused: POST /v1/messages from curl": (
        e.AgentRequestRefused(job(1), "POST /v1/messages", "curl"),
    ),
    "the answer is to be delivered": (owed("answer"),),
    "the question is to be delivered": (owed("question"),),
    "a message is to be delivered": (owed("opening"), owed("reminder")),
    "goes to discord": (planned(pieces=PIECES[:1], reason="the requester's own binding"),),
    "goes to discord in 2 messages: " + LOST: (planned(pieces=PIECES, route="fallback", reason=LOST),),
    "waits to be fetched (discord)": (planned(),),
    "cannot be delivered: no active binding; fail_closed forbids a fallback": (
        planned(destination=None, route="nowhere", reason="no active binding; fail_closed forbids a fallback"),
    ),
    "message 1 was delivered": (e.PieceDelivered("d", 0, "1234567890"),),
    "delivery waits until 2026-11-17T23:00:00.000Z after E_DISCORD_RATE_LIMIT": (
        e.DeliveryDeferred(entry_id="d", attempts=1, due="2026-11-17T23:00:00.000Z", error_code="E_DISCORD_RATE_LIMIT"),
    ),
    "the answer was fetched": (e.DeliveryAcknowledged("d"),),
    "delivery abandoned with E_UNDELIVERABLE: abandoned after 9 attempts in 8 days": (
        e.DeliveryAbandoned("d", "E_UNDELIVERABLE", "abandoned after 9 attempts in 8 days"),
    ),
    "agent goose 1.2 runs as: goose acp": (e.AgentConfigured(name="goose", command=("goose", "acp"), version="1.2"),),
    "agent goose was removed": (e.AgentRemoved("goose"),),
    "the session is called Repairs": (e.SessionTitled(OWN, "Repairs", "agent"),),
    "the agent called send_file: report.txt": (
        e.AgentToolCalled(
            call_id="c", session_key=OWN, generation=0, job_id=job(1), tool="send_file", detail="report.txt"
        ),
    ),
    "what the agent sent is to be delivered": (owed("sent"),),
    "goes back to the session that asked": (planned(destination=None, route="asker"),),
    "the agent asked for this session, for a task of its own": (spawned(by_agent=True),),
    "local asked for this session, for a task of its own": (spawned(by_agent=False),),
    "schedule 2 started it, due at 09:00; times from 08:00 on were missed": (
        ticked("ran", detail="exit code 0", missed_from="08:00"),
    ),
    "schedule 2 did not run, due at 09:00: exit code 1": (ticked("check", detail="exit code 1"),),
    "local removed the webhook ci": (e.HookRemoved("ci", "local"),),
    "local set the budget of api per day: $2.50 1,000 tokens": (
        e.BudgetSet(project="api", person="local", usd=2.5, tokens=1000),
    ),
    "local removed the budget of api": (e.BudgetSet(project="api", person="local"),),
    "local lets api spend more on 2026-11-17": (decided("go_on"),),
    "local lets api wait until 2026-11-17 is over": (decided("wait"),),
    "local cancelled what waits for the budget of api on 2026-11-17": (decided("cancel"),),
    "local undid it": (e.JobUndone(job(1), "undo_1", "local"),),
    "local redid it": (e.JobRedone(job(1), "undo_2", "local"),),
    "the files were recorded before the turn": (
        e.TreeSnapshotTaken(job_id=job(1), moment="start", snapshot=TreeSnapshot("c", "t")),
    ),
    "no file was changed": (e.TreeSnapshotTaken(job_id=job(1), moment="end", snapshot=TreeSnapshot("c", "t")),),
    "files changed: 2 (+3 -0)": (
        e.TreeSnapshotTaken(
            job_id=job(1), moment="end", snapshot=TreeSnapshot("c", "t"), changed=ChangeSummary(total=2, added=3)
        ),
    ),
    "the files could not be recorded (E_SNAPSHOT): It took longer than 10 s.": (
        e.TreeSnapshotMissed(job(1), "start", "E_SNAPSHOT", "It took longer than 10 s."),
    ),
    "ada wants it in the running turn": [e.SteeringAsked("job_20260105_0002", "ada")],
    "goes into the running turn of #1": [
        e.SteeringBegun(job_id="job_20260105_0002", session_key="k", into="job_20260105_0001")
    ],
    "the agent took it into the turn of #1; it has no answer of its own": [
        e.JobSteered("job_20260105_0002", "k", "job_20260105_0001")
    ],
    "no turn was running: it is an ordinary message": [
        e.SteeringDeclined(job_id="job_20260105_0002", session_key="k", reason="no_turn")
    ],
    "this agent takes nothing into a turn that runs: it waits as an ordinary message": [
        e.SteeringDeclined(job_id="job_20260105_0002", session_key="k", reason="unsupported")
    ],
    "the turn ended before the agent took it: it waits as an ordinary message": [
        e.SteeringDeclined(job_id="job_20260105_0002", session_key="k", reason="too_late")
    ],
    "the agent did not take it: Overloaded; it waits as an ordinary message": [
        e.SteeringDeclined(job_id="job_20260105_0002", session_key="k", reason="refused", detail="Overloaded")
    ],
    "ada forked this session from agent:fairlead:user:local": [
        e.SessionForked(session_key="k", forked_from=OWN, asked_by="9", person="ada")
    ],
    "the agent begins with a copy of what was said before": [
        e.ForkPlanned(session_key="k", generation=0, runtime="claude", project_path="/p", fork=ForkOrigin("r"))
    ],
}


def events() -> Iterator[e.JournalEvent]:
    return (event for each in SENTENCES.values() for event in each)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_fact_is_told_in_plain_words_and_by_short_names(sentence: str):
    assert {describe_event(event) for event in SENTENCES[sentence]} == {sentence}


@pytest.mark.parametrize("lang", [lang for lang in CATALOGUES if lang != "en"])
def test_every_step_follows_the_language(lang: str):
    for event in events():
        words = describe_event(event, lang)
        assert MISSING not in words.replace("pytest …", "")
        ours = re.sub("|".join([*map(re.escape, values_in(event)), "[A-Z_]{2,}"]), "", words)
        assert not re.search(r"[a-z]{3}", re.sub("Fairlead|session|webhook|token", "", ours)), words


def values_in(event: e.JournalEvent) -> list[str]:
    """What somebody else said or named: it stays as it is. Fairlead's own reasons do not."""
    fields = sentence_of(event).fields
    own = {"reason"} if fields.get("reason") != "Overloaded" else set()
    return sorted((text for gap, text in fields.items() if gap not in own), key=len, reverse=True)


IN_ENGLISH_YET: tuple[str, ...] = ()
"""Facts whose sentence is not translated."""


def test_every_fact_that_can_be_asked_for_has_words():
    """`/why` finds a fact by the fields that say what it is about."""
    found = {kind.__name__ for kind in EVENT_TYPES if set(kind.__struct_fields__) & set(NAMING_FIELDS)}
    without = found - {type(event).__name__ for event in events()} - {"JobFailed", *IN_ENGLISH_YET}
    assert without == set(), "give each a sentence in render/story.py and words/story, and an example here"


def test_a_failure_is_told_with_its_words_where_it_has_any():
    failed = JobFailed(job_id="job_1", session_key="k", error_code="E_AGENT_ERROR", error_message="Overloaded")
    assert describe_event(failed) == "failed with E_AGENT_ERROR: Overloaded"
    silent = JobFailed(job_id="job_1", session_key="k", error_code="E_EMPTY_MESSAGE", error_message="")
    assert describe_event(silent) == "failed with E_EMPTY_MESSAGE"


def test_a_failure_in_fairleads_own_words_is_translated_and_an_agents_words_are_not():
    def fail(message: str) -> str:
        fact = JobFailed(job_id="job_1", session_key="k", error_code="E_AGENT_ERROR", error_message=message)
        return describe_event(fact, "ja")

    assert fail("The echo agent was killed.") != "E_AGENT_ERROR で失敗しました: The echo agent was killed."
    assert fail("Overloaded") == "E_AGENT_ERROR で失敗しました: Overloaded"


def test_a_fact_without_words_is_named_by_its_type_and_a_sentence_of_a_newer_version_is_left_to_others():
    assert describe_event(e.OwnerSet("1")) == "owner set"
    assert say_step(StorySentence("SomethingNew", {}), "ja") == ""
