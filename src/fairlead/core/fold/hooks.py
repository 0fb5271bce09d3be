"""The rules of the fold for hooks: added, removed."""

from msgspec.structs import asdict, replace

from fairlead.core import events as e
from fairlead.core.hooks import HookFields
from fairlead.core.state import State


def hook_added(state: State, _ts: str, event: e.HookAdded) -> None:
    state.hooks[event.name] = HookFields(**asdict(event))


def hook_removed(state: State, _ts: str, event: e.HookRemoved) -> None:
    state.hooks.pop(event.name, None)


def rename_project(state: State, name: str, new_name: str) -> None:
    for hook in list(state.hooks.values()):
        if hook.project == name:
            state.hooks[hook.name] = replace(hook, project=new_name)
