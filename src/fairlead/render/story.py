"""One fact of the journal as a sentence, for `why` and `journal show`. English: it is read beside the raw lines."""

from typing import Final

from fairlead.core import events as e
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import one_line

_OWED: Final = {
    "answer": "the answer",
    "question": "a question",
    "opening": "a thread",
    "reminder": "a reminder",
    "link": "a link",
    "sent": "what the agent sent",
}


def describe_event(event: e.JournalEvent) -> str:
    """What happened, without the long texts."""
    match event:
        case e.AgentConfigured():
            return f"agent {event.name} {event.version} runs as: {_short(' '.join(event.command))}"
        case e.AgentRemoved():
            return f"agent {event.name} was removed"
        case e.JobEnqueued():
            again = f" (attempt {event.attempt} of {event.retry_of})" if event.retry_of else ""
            return f"accepted as {event.job_id} in {event.session_key}{again}: {_short(event.prompt)}"
        case e.MessageRefused():
            return f"refused with {event.error_code}"
        case e.MessageSkipped():
            return f"skipped: {event.reason}"
        case e.JobStarted():
            how = "resuming its conversation" if event.resume_key else "with a new conversation"
            return f"{event.runtime} started in {event.project} ({event.project_path}), {how}"
        case e.JobHandedOver():
            return "the agent was given the prompt"
        case e.JobRequeued():
            return "Fairlead stopped before the agent had the prompt; the job is first in its queue again"
        case e.JobTriedAgain():
            return f"tried a second time after {event.error_code}: {_short(event.reason)}"
        case e.JobCompleted():
            return f"answered: {_short(event.excerpt)}"
        case e.JobFailed():
            return f"failed with {event.error_code}" + (
                f": {_short(event.error_message)}" if event.error_message else ""
            )
        case e.JobCancelled():
            return ("cancelled" + (f" by {event.person}" if event.person else "")) + (
                f" ({event.reason})" if event.reason else ""
            )
        case e.JobMarkedUnknownAfterCrash():
            return "was running when Fairlead stopped; what the agent did until then is unknown"
        case e.QuestionAsked():
            return f"the agent asked ({event.kind}): {_short(event.title)} {_short(event.detail)}".rstrip()
        case e.QuestionAnswered():
            extent = " for this session" if event.for_session else " from now on" if event.always else ""
            why = f", because: {_short(event.message)}" if event.verdict == "deny" and event.message else ""
            return f"{event.person} answered: {event.verdict}{extent}{why}" + (f" ({event.via})" if event.via else "")
        case e.StandingRuleMade():
            return f"{event.person} made rule {event.number}: {_short(rule_words(event.offer))} in {event.project}"
        case e.StandingRuleUsed():
            rule = _short(rule_words(event.offer))
            return f"allowed by rule {event.number} ({rule}) without asking: {event.tool} {_short(event.detail)}"
        case e.StandingRuleRemoved():
            return f"{event.person} removed rule {event.number}"
        case e.AgentToolCalled():
            return f"the agent called {event.tool}" + (f": {_short(event.detail)}" if event.detail else "")
        case e.AgentRequestRefused():
            return f"a process of the agent was refused: {_short(event.request)} from {_short(event.program)}"
        case e.ChoiceMade():
            return f"{event.person} chose {_short('; '.join(event.chosen.values()))}"
        case e.QuestionClosed():
            return f"the question closed: {event.reason.replace('_', ' ')}"
        case e.SessionSpawned():
            by = "the agent of" if event.order.by_agent else "a person in"
            return f"{event.session_key} was spawned by {by} {event.order.parent_session_key or 'no session'}"
        case e.SessionTitled():
            return f"the session is called {_short(event.title)!r} (by {event.by})"
        case e.DeliveryOwed():
            return f"{_OWED[event.kind]} is pending delivery"
        case e.DeliveryPlanned():
            where = event.destination.address if event.destination is not None else "nowhere"
            count = f"{len(event.pieces)} message(s)" if event.pieces else "to be fetched"
            if event.route == "asker":
                return f"goes back to the session that asked ({event.reason})"
            return f"will be sent to {where} ({event.route}: {event.reason}), {count}"
        case e.PieceDelivered():
            return f"message {event.index + 1} was delivered as {event.message_id}"
        case e.DeliveryDeferred():
            return f"delivery waits until {event.due}" + (f" after {event.error_code}" if event.error_code else "")
        case e.DeliveryAcknowledged():
            return "the answer was fetched"
        case e.DeliveryAbandoned():
            return f"delivery abandoned with {event.error_code}: {event.reason}"
        case _:
            return _spell_out(type(event).__name__)


def _short(text: str) -> str:
    return one_line(text, 120)


def _spell_out(name: str) -> str:
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
