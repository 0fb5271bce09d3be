"""One fact of the journal as a sentence, for `/why` and `journal show`: which one it is, and what fills its gaps. The
sentences stand in `words/story`. A fact that has none is named by its type."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.job_names import short_name
from fairlead.core.trees import ChangeSummary
from fairlead.render.details import translate_detail
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import one_line
from fairlead.render.words import CATALOGUES, say

_BUDGET_DECIDED = {
    "go_on": "BudgetDecided.go_on",
    "wait": "BudgetDecided.wait",
    "cancel": "BudgetDecided.cancel",
}
_DECLINED: Final[dict[e.SteeringReason, str]] = {
    "no_turn": "SteeringDeclined.no_turn",
    "unsupported": "SteeringDeclined.unsupported",
    "too_late": "SteeringDeclined.too_late",
    "refused": "SteeringDeclined.refused",
}
MOMENTS: Final = frozenset({"due", "there", "taken"})
"""Gaps that are filled with a time: a channel shows it as it shows the other times."""
_OWN_WORDS = {"reason"}
"""Gaps that are filled with sentences of Fairlead's own, or with an agent's, which stay as they are."""


class StorySentence(NamedTuple):
    """`fields` may be more than the sentence has gaps: a channel can make a link of them."""

    key: str
    fields: Mapping[str, str]


def describe_event(event: e.JournalEvent, lang: str = "en") -> str:
    """What happened, without the long texts."""
    return say_step(sentence_of(event), lang) or _describe_in_english(event)


def say_step(sentence: StorySentence, lang: str, quote: Callable[[str, str], str] = lambda _gap, text: text) -> str:
    """ "" for a sentence that this version does not know: a newer one may have told it. `quote` gets the name of each
    gap and what fills it."""
    if f"story.{sentence.key}" not in CATALOGUES["en"]:
        return ""
    fields = {gap: translate_detail(text, lang) if gap in _OWN_WORDS else text for gap, text in sentence.fields.items()}
    return say(lang, f"story.{sentence.key}", **{gap: quote(gap, text) for gap, text in fields.items() if text})


def _tell(key: str, /, **fields: str | int) -> StorySentence:
    return StorySentence(key, {gap: one_line(str(text), 120) for gap, text in fields.items() if text not in {"", 0}})


def sentence_of(event: e.JournalEvent) -> StorySentence:
    name = type(event).__name__
    match event:
        case e.AgentConfigured():
            return _tell("AgentConfigured", name=event.name, version=event.version, command=" ".join(event.command))
        case e.AgentRemoved():
            return _tell("AgentRemoved", name=event.name)
        case e.MachineAdded():
            return _tell("MachineAdded", name=event.name)
        case e.MachineRemoved():
            return _tell("MachineRemoved", name=event.name)
        case e.MachineRenamed():
            return _tell("MachineRenamed", name=event.name, new_name=event.new_name)
        case e.RunnerMet():
            return _tell("RunnerMet", machine=event.machine, version=event.version)
        case e.MachinesEpochBegun():
            return _tell("MachinesEpochBegun", epoch=event.epoch)
        case e.SessionTitled():
            return _tell("SessionTitled", title=event.title)
        case e.MessageRefused():
            return _tell("MessageRefused", code=event.error_code)
        case e.MessageSkipped():
            return _tell("MessageSkipped", reason=event.reason)
        case e.StandingRuleMade():
            rule = rule_words(event.offer)
            return _tell("StandingRuleMade", person=event.person, number=event.number, rule=rule, project=event.project)
        case e.StandingRuleUsed():
            rule, what = rule_words(event.offer), f"{event.tool} {event.detail}"
            return _tell("StandingRuleUsed", number=event.number, rule=rule, what=what)
        case e.StandingRuleRemoved():
            return _tell("StandingRuleRemoved", person=event.person, number=event.number)
        case e.AgentRequestRefused():
            return _tell("AgentRequestRefused", request=event.request, program=event.program)
        case e.QuestionAsked() | e.QuestionAnswered() | e.ChoiceMade() | e.QuestionClosed():
            return _question_sentence(event)
        case (
            e.DeliveryOwed()
            | e.DeliveryPlanned()
            | e.PieceDelivered()
            | e.DeliveryDeferred()
            | e.DeliveryAcknowledged()
            | e.DeliveryAbandoned()
        ):
            return _delivery_sentence(event)
        case e.TreeSnapshotTaken() | e.TreeSnapshotMissed():
            return _tree_sentence(event)
        case e.JobUndone():
            return _tell("JobUndone", person=event.person)
        case e.JobRedone():
            return _tell("JobRedone", person=event.person)
        case _:
            told = _job_sentence(event) or _steering_sentence(event) or _automation_sentence(event)
            return told or StorySentence(name, {})


def _job_sentence(event: e.JournalEvent) -> StorySentence | None:
    match event:
        case e.JobEnqueued():
            attempt, of = (event.attempt, short_name(event.retry_of)) if event.retry_of else (0, "")
            job, session = short_name(event.job_id), _shared_session(event.session_key)
            return _tell("JobEnqueued", job=job, attempt=attempt, of=of, session=session, prompt=event.prompt)
        case e.JobAmended():
            return _tell("JobAmended", prompt=event.prompt)
        case e.AttachmentsStored():
            return _tell("AttachmentsStored", count=len(event.attachments))
        case e.JobStarted():
            key = "JobStarted.resumed" if event.resume_key else "JobStarted.new"
            return _tell(key, tool=event.runtime, project=event.project)
        case e.JobTriedAgain():
            return _tell("JobTriedAgain", code=event.error_code, reason=event.reason)
        case e.JobCompleted():
            return _tell("JobCompleted", answer=event.excerpt, there=event.report.machine_time)
        case e.JobFailed():
            there = event.report.machine_time
            return _tell("JobFailed", code=event.error_code, reason=event.error_message, there=there)
        case e.JobCancelled():
            return _tell("JobCancelled", person=event.person, reason=event.reason)
        case e.JobWithdrawn():
            return _tell("JobWithdrawn", reason=event.reason)
        case e.JobHandedOver():
            return _tell("JobHandedOver", there=event.machine_time, taken=event.taken_at)
        case e.JobRequeued():
            return _tell("JobRequeued")
        case e.JobProgress():
            return _tell("JobProgress", count=str(event.tools_started))
        case e.JobContinued():
            return _tell("JobContinued")
        case e.JobMarkedUnknownAfterCrash():
            return _tell("JobMarkedUnknownAfterCrash")
        case _:
            return None


def _steering_sentence(event: e.JournalEvent) -> StorySentence | None:
    """What became of a text that was meant for a turn which runs; and what a forked session begins with."""
    match event:
        case e.SessionForked():
            return _tell("SessionForked", person=event.person, session=event.forked_from)
        case e.ForkPlanned():
            return _tell("ForkPlanned")
        case e.SteeringAsked():
            return _tell("SteeringAsked", person=event.person)
        case e.SteeringBegun():
            return _tell("SteeringBegun", job=short_name(event.into))
        case e.JobSteered():
            return _tell("JobSteered", job=short_name(event.into))
        case e.SteeringDeclined():
            return _tell(_DECLINED[event.reason], detail=event.detail)
        case _:
            return None


def _automation_sentence(event: e.JournalEvent) -> StorySentence | None:
    """Facts about work that no message of a person began, and about what it may cost."""
    match event:
        case e.SessionSpawned():
            key = "SessionSpawned.agent" if event.order.by_agent else "SessionSpawned.person"
            return _tell(key, person=event.order.person)
        case e.SessionAdopted():
            return _tell("SessionAdopted", person=event.person, tool=event.runtime, key=event.key, before=event.before)
        case e.SessionHandedOff():
            return _tell("SessionHandedOff", person=event.person, tool=event.runtime, key=event.key)
        case e.SessionTakenBack():
            return _tell("SessionTakenBack", person=event.person, count=event.exchanges)
        case e.AgentToolCalled():
            return _tell("AgentToolCalled", tool=event.tool, what=event.detail)
        case e.HookAdded():
            return _tell("HookAdded", person=event.person, name=event.name)
        case e.HookRemoved():
            return _tell("HookRemoved", person=event.person, name=event.name)
        case e.BudgetSet(usd=None, tokens=None):
            return _tell("BudgetSet.none", person=event.person, project=event.project)
        case e.BudgetSet():
            usd = f"${event.usd:.2f}" if event.usd is not None else ""
            tokens = f"{event.tokens:,}" if event.tokens is not None else ""
            return _tell("BudgetSet.some", person=event.person, project=event.project, usd=usd, tokens=tokens)
        case e.ScheduleMade():
            return _tell("ScheduleMade", number=event.number, person=event.terms.person)
        case e.ScheduleTicked():
            key = "ScheduleTicked.ran" if event.outcome == "ran" else "ScheduleTicked.not"
            why = "" if event.outcome == "ran" else event.detail
            return _tell(key, number=event.number, tick=event.tick, detail=why, missed=event.missed_from)
        case e.BudgetDecided():
            return _tell(_BUDGET_DECIDED[event.choice], person=event.person, project=event.project, day=event.day)
        case _:
            return None


def _shared_session(session_key: str) -> str:
    """A person's own session needs no name; where several people talk, it says where."""
    return "" if ":user:" in session_key else session_key


def _question_sentence(
    event: e.QuestionAsked | e.QuestionAnswered | e.ChoiceMade | e.QuestionClosed,
) -> StorySentence:
    match event:
        case e.QuestionAsked() if event.budget_day:
            return _tell("QuestionAsked.budget", project=event.project, question=event.title)
        case e.QuestionAsked():
            keys = {"permission": "QuestionAsked.permission", "plan": "QuestionAsked.plan"}
            asked = event.title if event.detail in event.title else f"{event.title} {event.detail}".strip()
            return _tell(keys.get(event.kind, "QuestionAsked.question"), question=asked)
        case e.QuestionAnswered(verdict="deny"):
            return _tell("QuestionAnswered.deny", person=event.person, words=event.message, via=event.via)
        case e.QuestionAnswered():
            chosen = "; ".join(event.chosen.values())
            session = "QuestionAnswered.session" if event.for_session else "QuestionAnswered.once"
            key = "QuestionAnswered.chosen" if chosen else "QuestionAnswered.always" if event.always else session
            return _tell(key, person=event.person, answer=chosen, via=event.via)
        case e.ChoiceMade():
            return _tell("ChoiceMade", person=event.person, answer="; ".join(event.chosen.values()))
        case e.QuestionClosed():
            keys = {"expired": "QuestionClosed.expired", "withdrawn": "QuestionClosed.withdrawn"}
            return _tell(keys.get(event.reason, "QuestionClosed.job_ended"))


def _delivery_sentence(
    event: e.DeliveryOwed
    | e.DeliveryPlanned
    | e.PieceDelivered
    | e.DeliveryDeferred
    | e.DeliveryAcknowledged
    | e.DeliveryAbandoned,
) -> StorySentence:
    match event:
        case e.DeliveryOwed():
            keys = {"answer": "DeliveryOwed.answer", "question": "DeliveryOwed.question", "sent": "DeliveryOwed.sent"}
            return _tell(keys.get(event.kind, "DeliveryOwed.other"))
        case e.DeliveryPlanned(route="asker"):
            return _tell("DeliveryPlanned.asker")
        case e.DeliveryPlanned(destination=ConversationRef() as to):
            key = "DeliveryPlanned.sent" if event.pieces else "DeliveryPlanned.fetched"
            reason = event.reason if event.route == "fallback" else ""
            count = len(event.pieces) if len(event.pieces) > 1 else 0
            return _tell(key, where=to.channel, conversation=to.conversation_id, count=count, reason=reason)
        case e.DeliveryPlanned():
            return _tell("DeliveryPlanned.nowhere", reason=event.reason)
        case e.PieceDelivered():
            return _tell("PieceDelivered", number=event.index + 1)
        case e.DeliveryDeferred():
            return _tell("DeliveryDeferred", due=event.due, code=event.error_code)
        case e.DeliveryAcknowledged():
            return _tell("DeliveryAcknowledged")
        case e.DeliveryAbandoned():
            return _tell("DeliveryAbandoned", code=event.error_code, reason=event.reason)


def _tree_sentence(event: e.TreeSnapshotTaken | e.TreeSnapshotMissed) -> StorySentence:
    match event:
        case e.TreeSnapshotTaken(moment="start"):
            return _tell("TreeSnapshotTaken.start")
        case e.TreeSnapshotTaken(changed=ChangeSummary() as changed):
            # As text, because a gap with the number 0 would count as empty.
            added, removed = str(changed.added), str(changed.removed)
            return _tell("TreeSnapshotTaken.changed", count=changed.total, added=added, removed=removed)
        case e.TreeSnapshotTaken():
            return _tell("TreeSnapshotTaken.unchanged")
        case e.TreeSnapshotMissed():
            return _tell("TreeSnapshotMissed", code=event.error_code, reason=event.reason)


def _describe_in_english(event: e.JournalEvent) -> str:
    """A fact that has no sentence in `words/story`."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in type(event).__name__).strip()
