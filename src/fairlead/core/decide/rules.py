"""Deciding about standing rules: made by an answer of the owner, used in a person's place, taken back."""

from typing import Final

import msgspec

from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.messages import has_foreign_text
from fairlead.core.events import StandingRuleMade, StandingRuleRemoved, StandingRuleUsed
from fairlead.core.ids import JobId
from fairlead.core.limits import Limits
from fairlead.core.rules import MOST_RULES, RuleOffer, RuleSubject, find_rule, offers_for
from fairlead.core.state import Job, OpenQuestion, State
from fairlead.errors import Code, FairleadError, error

_SHOWN_DETAIL: Final = 200


class UseRule(msgspec.Struct, frozen=True):
    """`tier` is what the agent may do in its project now, in words, as in `AskPerson`."""

    job_id: JobId
    subject: RuleSubject
    tier: str = ""


class RemoveRule(msgspec.Struct, frozen=True):
    number: int
    person: str


def use_rule(state: State, command: UseRule, _now: str, _limits: Limits) -> Decision:
    """Nothing where a person must be asked: no rule covers the request, somebody else's words may be what the agent
    follows, or the tier of the project is another one than a person last saw."""
    job = state.jobs.get(command.job_id)
    project = None if job is None else state.projects.get(job.project)
    if job is None or not job.is_live or project is None or project.removed or not may_rely_on_rules(job):
        return NOTHING
    rule = find_rule(state.rules.values(), job.project, command.subject)
    if rule is None or project.seen_tier != command.tier:
        return NOTHING
    used = StandingRuleUsed(
        number=rule.number,
        job_id=job.job_id,
        offer=rule.offer,
        tool=command.subject.tool,
        detail=command.subject.detail[:_SHOWN_DETAIL],
    )
    return Decision((used,), job_id=job.job_id)


def may_rely_on_rules(job: Job) -> bool:
    """An agent that goes on by itself may follow whatever it has read meanwhile."""
    return job.cause != "agent" and not has_foreign_text(job)


def rules_to_offer(state: State, job: Job, subject: RuleSubject | None) -> tuple[RuleOffer, ...]:
    project = state.projects.get(job.project)
    if subject is None or project is None or project.removed or not may_rely_on_rules(job):
        return ()
    return offers_for(subject)


def make_rule(
    state: State, question: OpenQuestion, job: Job, *, offer_number: int, person: str
) -> tuple[StandingRuleMade, ...] | FairleadError:
    """The rule that an answer makes; nothing where the project has it already."""
    if not 1 <= offer_number <= len(question.offers):
        offered = f"offers {len(question.offers)}" if question.offers else "offers no standing rule"
        return error(Code.E_INVALID_ARGS, f"`always` is {offer_number}, and this question {offered}.")
    project = state.projects.get(job.project)
    if project is None or project.removed:
        return error(Code.E_PROJECT_NOT_FOUND, f"Project {job.project} was removed.", next_step="Allow it once.")
    offer = question.offers[offer_number - 1]
    there = [rule for rule in state.rules.values() if rule.project == project.name]
    if any(rule.offer == offer for rule in there):
        return ()
    if len(there) >= MOST_RULES:
        full = f"{project.name} already has {len(there)} standing rules."
        return error(Code.E_INVALID_ARGS, full, next_step="Remove some with /rules remove.")
    made = StandingRuleMade(
        number=state.rules_made + 1,
        project=project.name,
        offer=offer,
        session_key=question.session_key,
        person=person,
        job_id=job.job_id,
        question_id=question.question_id,
    )
    return (made,)


def remove_rule(state: State, command: RemoveRule, _now: str, _limits: Limits) -> Decision:
    rule = state.rules.get(command.number)
    if rule is None:
        return refuse(Code.E_RULE_NOT_FOUND, f"There is no rule {command.number}.")
    return Decision((StandingRuleRemoved(command.number, command.person),))
