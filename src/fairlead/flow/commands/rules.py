"""Commands about standing rules: list them, take one back. An answer to a permission makes them."""

from fairlead.core import requests as ask
from fairlead.core.decide.rules import RemoveRule
from fairlead.core.replies import RuleCatalogue, RuleRow, RuleWasRemoved
from fairlead.core.requests import Caller
from fairlead.core.rules import StandingRule
from fairlead.core.visibility import visible_rules
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable


def rule_handlers(parts: CommandParts) -> HandlerTable:
    commands = RuleCommands(parts)
    return {ask.RuleList: commands.list, ask.RuleRemove: commands.remove}


class RuleCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def list(self, _request: ask.RuleList, caller: Caller) -> RuleCatalogue:
        return RuleCatalogue(tuple(_row(rule) for rule in visible_rules(self._parts.state, caller)))

    async def remove(self, request: ask.RuleRemove, caller: Caller) -> RuleWasRemoved:
        rule = self._parts.state.rules.get(request.number)
        if rule is None:
            raise error(Code.E_RULE_NOT_FOUND, f"There is no rule {request.number}.")
        row = _row(rule)
        await self._parts.ledger.record_durably(RemoveRule(request.number, caller.person))
        return RuleWasRemoved(row)


def _row(rule: StandingRule) -> RuleRow:
    return RuleRow(
        number=rule.number,
        project=rule.project,
        rule=rule.offer,
        person=rule.person,
        made_at=rule.made_at,
        uses=rule.uses,
        used_at=rule.used_at,
    )
