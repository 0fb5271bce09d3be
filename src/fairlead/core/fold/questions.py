"""The rules for questions: asked, answered, or closed without an answer."""

from typing import Final

from msgspec.structs import asdict, replace

from fairlead.core import events as e
from fairlead.core.budgets import BudgetDay
from fairlead.core.ids import QuestionId
from fairlead.core.job_states import states_before
from fairlead.core.retention import remove_entry
from fairlead.core.state import OpenQuestion, State, question_entry_id

_ASKABLE: Final = states_before(e.QuestionAsked)


def question_asked(state: State, ts: str, event: e.QuestionAsked) -> None:
    job = state.jobs.get(event.job_id)
    is_askable = job is not None and (job.state in _ASKABLE or event.by_message)
    if job is None or not is_askable or (job.state == "queued" and not event.budget_day):
        return
    if event.budget_day:
        state.budget_days[event.project] = BudgetDay(event.budget_day)
    state.questions_made += 1
    asked = asdict(event)  # every field of the event, so that a new one needs no line here
    state.questions[event.question_id] = OpenQuestion(
        **asked, asked_at=ts, conversation=job.conversation, asked_on=state.lived_day
    )
    if job.state == "running" and not event.by_message:
        job.state = "waiting"
        state.running.remove(event.job_id)
        state.waiting.append(event.job_id)


def question_answered(state: State, _ts: str, event: e.QuestionAnswered) -> None:
    question = state.questions.get(event.question_id)
    if question is None or question.status != "open":
        return
    state.questions[event.question_id] = replace(
        question,
        status="answered",
        verdict=event.verdict,
        answered_by=event.person,
        chosen=event.chosen,
        message=event.message,
        for_session=event.for_session,
    )
    _remove_fetchable_entry(state, event.question_id)
    job = state.jobs.get(question.job_id)
    project = None if job is None else state.projects.get(job.project)
    if question.tier and project is not None:
        project.seen_tier = question.tier  # the person who responded has seen the tier


def choice_made(state: State, _ts: str, event: e.ChoiceMade) -> None:
    question = state.questions.get(event.question_id)
    if question is not None and question.status == "open":
        state.questions[event.question_id] = replace(question, chosen=question.chosen | event.chosen)


def question_closed(state: State, _ts: str, event: e.QuestionClosed) -> None:
    question = state.questions.get(event.question_id)
    if question is not None and question.status == "open":
        state.questions[event.question_id] = replace(question, status="closed", closed_reason=event.reason)
        _remove_fetchable_entry(state, event.question_id)


def _remove_fetchable_entry(state: State, question_id: QuestionId) -> None:
    """A client that fetches has seen a question it responded to, and need not see one that is closed."""
    entry = state.outbox.get(question_entry_id(question_id))
    if entry is not None and entry.awaits_fetching:
        remove_entry(state, entry)


def rename_project(state: State, name: str, new_name: str) -> None:
    """The response to a question may begin a job in its project."""
    for question in list(state.questions.values()):
        if question.project == name:
            state.questions[question.question_id] = replace(question, project=new_name)
