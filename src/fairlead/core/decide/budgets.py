"""Deciding about budgets: set, asked about once a day, and what a person says.

A job starts only while its project has spent less than its budget of the day; a job that runs is never stopped, so it
may pass the budget by its own cost.
"""

import math
from typing import Final

import msgspec

from fairlead.core.budgets import BudgetChoice
from fairlead.core.decide.budget_state import find_queued_jobs, is_spent, project_of_next
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.job_ends import cancel_queued
from fairlead.core.engine import AskedItem, Option
from fairlead.core.events import (
    BudgetDecided,
    BudgetSet,
    DeliveryOwed,
    JournalEvent,
    QuestionAnswered,
    QuestionAsked,
    QuestionClosed,
)
from fairlead.core.ids import JobId, QuestionId
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import OpenQuestion, State, question_entry_id
from fairlead.errors import Code, FairleadError, error

CHOICES: Final[tuple[BudgetChoice, ...]] = ("go_on", "wait", "cancel")
"""In the order in which a question offers them: its labels are in the language of the person who was asked."""


class SetBudget(msgspec.Struct, frozen=True, kw_only=True):
    """With neither limit the project has no budget."""

    project: str
    person: str
    usd: float | None = None
    tokens: int | None = None


class AskAboutBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The next job of a session waits for its project's budget. `text` and `labels` are for the person who wrote it:
    one label for each of CHOICES."""

    job_id: JobId
    text: str
    labels: tuple[str, ...]


class CloseBudgetQuestion(msgspec.Struct, frozen=True):
    """There is nothing to decide any more: another day has begun."""

    question_id: QuestionId


def set_budget(state: State, command: SetBudget, _now: str, _limits: Limits) -> Decision:
    if state.project_named(command.project) is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.project[:60]!r}.")
    usd, tokens = command.usd, command.tokens
    if (usd is not None and not (math.isfinite(usd) and usd >= 0)) or (tokens is not None and tokens < 0):
        return refuse(Code.E_INVALID_ARGS, "A budget is a number, and not less than nothing.")
    made = BudgetSet(project=command.project, person=command.person, usd=usd, tokens=tokens)
    return Decision((made, *_close_questions(state, command.project)), project=command.project)


def _close_questions(state: State, project: str) -> tuple[JournalEvent, ...]:
    return tuple(
        QuestionClosed(q.question_id, "withdrawn")
        for q in state.questions.values()
        if q.budget_day and q.project == project and q.status == "open"
    )


def ask_about_budget(state: State, command: AskAboutBudget, now: str, limits: Limits) -> Decision:
    """Once a day for each project, while a job waits for it."""
    job = state.jobs.get(command.job_id)
    today = limits.days.day_of(now)
    if job is None or job.state != "queued":
        return NOTHING
    project = project_of_next(state, state.sessions[job.session_key])
    asked = state.budget_days.get(project)
    if not is_spent(state, project, today) or (asked is not None and asked.day == today):
        return NOTHING
    question_id = QuestionId(f"q_{state.questions_made + 1}")
    question = QuestionAsked(
        question_id=question_id,
        job_id=job.job_id,
        session_key=job.session_key,
        kind="question",
        title=command.text,
        deadline=limits.days.end_of_day(now),
        request_id="",
        items=(AskedItem(command.text, tuple(map(Option, command.labels))),),
        project=project,
        budget_day=today,
    )
    entry = DeliveryOwed(
        entry_id=question_entry_id(question_id),
        kind="question",
        session_key=job.session_key,
        requester=job.conversation,
        job_id=job.job_id,
        question_id=question_id,
    )
    return Decision((question, entry), question_id=question_id)


def decide_budget(
    state: State, question: OpenQuestion, command: RespondToQuestion, now: str, limits: Limits
) -> Decision:
    """A person's answer; that they may answer at all was decided before."""
    if limits.days.day_of(now) != question.budget_day:
        return refuse(Code.E_QUESTION_CLOSED, "That day is over, and the budget of today is another one.")
    choice = _choice_of(question, command)
    if isinstance(choice, FairleadError):
        return Decision(refusal=choice)
    if choice == "go_on" and not (command.pre_authorised or command.person == state.owner_id):
        return refuse(Code.E_OWNER_ONLY, "Only the owner can let a project spend more than its budget.")
    answered = QuestionAnswered(
        question_id=question.question_id,
        verdict=command.verdict,
        person=command.person,
        chosen=command.chosen,
        message=command.message,
        via=command.via,
    )
    decided = BudgetDecided(project=question.project, day=question.budget_day, choice=choice, person=command.person)
    events: list[JournalEvent] = [answered, decided]
    if choice == "cancel":
        for job_id in find_queued_jobs(state, question.project):
            events += cancel_queued(state, job_id, command.person, "budget spent")
    return Decision(tuple(events), job_id=question.job_id)


def _choice_of(question: OpenQuestion, command: RespondToQuestion) -> BudgetChoice | FairleadError:
    """Who declines to answer lets the jobs wait."""
    if command.verdict == "deny":
        return "wait"
    labels = [option.label for option in question.items[0].options]
    said = command.chosen.get(question.items[0].text, command.message).strip()
    if said in CHOICES:
        return said
    if said in labels:
        return CHOICES[labels.index(said)]
    return error(
        Code.E_INVALID_ARGS, f"{said[:60]!r} is no choice here.", next_step=f"Choose one: {', '.join(labels)}."
    )


def close_budget_question(state: State, command: CloseBudgetQuestion, _now: str, _limits: Limits) -> Decision:
    question = state.questions.get(command.question_id)
    if question is None or question.status != "open" or not question.budget_day:
        return NOTHING
    return Decision((QuestionClosed(command.question_id, "withdrawn"),), question_id=command.question_id)
