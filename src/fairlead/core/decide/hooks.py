"""Deciding about hooks: added, removed. An event of one is a message, and `messages` decides about it."""

import msgspec

from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.events import HookAdded, HookRemoved
from fairlead.core.hooks import MOST_HOOKS, HookFields, check_hook
from fairlead.core.limits import Limits
from fairlead.core.state import State
from fairlead.errors import Code


class AddHook(msgspec.Struct, frozen=True):
    hook: HookFields


class RemoveHook(msgspec.Struct, frozen=True):
    name: str
    person: str


def add_hook(state: State, command: AddHook, _now: str, _limits: Limits) -> Decision:
    problem = check_hook(command.hook)
    if problem is not None:
        return Decision(refusal=problem)
    if command.hook.name in state.hooks:
        return refuse(Code.E_HOOK_EXISTS, f"There is a hook {command.hook.name} already.")
    if len(state.hooks) >= MOST_HOOKS:
        return refuse(Code.E_INVALID_ARGS, f"There are {len(state.hooks)} hooks already.", next_step="Remove one.")
    return Decision((HookAdded(**msgspec.structs.asdict(command.hook)),))


def remove_hook(state: State, command: RemoveHook, _now: str, _limits: Limits) -> Decision:
    if command.name not in state.hooks:
        return refuse(Code.E_HOOK_NOT_FOUND, f"There is no hook {command.name[:60]!r}.")
    return Decision((HookRemoved(command.name, command.person),))
