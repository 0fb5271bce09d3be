"""The rules of the fold for standing rules: made, used, taken back."""

from msgspec.structs import replace

from fairlead.core import events as e
from fairlead.core.rules import StandingRule
from fairlead.core.state import State


def rule_made(state: State, ts: str, event: e.StandingRuleMade) -> None:
    state.rules_made = max(state.rules_made, event.number)
    state.rules[event.number] = StandingRule(
        number=event.number,
        project=event.project,
        offer=event.offer,
        session_key=event.session_key,
        person=event.person,
        made_at=ts,
    )
    question = state.questions.get(event.question_id)
    if question is not None:
        state.questions[event.question_id] = replace(question, rule_made=event.number)


def rule_used(state: State, ts: str, event: e.StandingRuleUsed) -> None:
    rule = state.rules.get(event.number)
    if rule is not None:
        rule.uses += 1
        rule.used_at = ts


def rule_removed(state: State, _ts: str, event: e.StandingRuleRemoved) -> None:
    state.rules.pop(event.number, None)
