"""Which turn an event of a long-lived Claude belongs to: the job's, one that Claude began by itself, or none. Pure.

A job's turn begins when Claude says that it took the prompt (by its uuid) and ends with the result that names it.
Outside of that, Claude acts in turns of its own: a background command ended, a sub-agent reported.
"""

from typing import Any, Literal, cast

from fairlead.runtimes.claude import wire

Belongs = Literal["job", "agent turn", "process"]


class TurnRouter:
    def __init__(self) -> None:
        self._prompt = ""
        self._has_begun = False
        self.background_tasks = 0

    def expect(self, prompt_uuid: str) -> None:
        self._prompt, self._has_begun = prompt_uuid, False

    def forget(self) -> None:
        self._prompt, self._has_begun = "", False

    def route(self, event: wire.Event) -> Belongs:
        if isinstance(event, wire.StreamEvent):  # nearly every line is one, and `match` would take longer
            return self._current_owner()
        match event:
            case wire.ControlResponse():
                return "process"
            case wire.CommandLifecycle():
                self._begin_if(event.state == "started" and event.command_uuid == self._prompt)
                return "process"
            case wire.System(subtype="background_tasks_changed"):
                self.background_tasks = _count(event.tasks)
                return "process"
            case wire.User(is_replay=True):
                self._begin_if(event.uuid == self._prompt)
                return "process"
            case wire.Assistant():
                self._begin_if(event.user_message_uuid == self._prompt)
                return self._current_owner()
            case wire.RateLimit():
                return "job" if self._prompt else "agent turn"  # it may come before the prompt is said to be taken
            case wire.Result():
                return self._owner_of_result(event)
            case _:
                return self._current_owner()

    def _begin_if(self, it_is_ours: bool) -> None:
        self._has_begun = self._has_begun or (bool(self._prompt) and it_is_ours)

    def _current_owner(self) -> Belongs:
        return "job" if self._has_begun else "agent turn"

    def _owner_of_result(self, event: wire.Result) -> Belongs:
        if event.user_message_uuid:
            # A result that names another prompt is a late one, of a job that was given up.
            return "job" if event.user_message_uuid == self._prompt else "process"
        if event.origin is not None and event.origin.kind == "task-notification":
            return "agent turn"
        # Older versions name no prompt, and refusals at the start never do.
        return "job" if self._prompt else "agent turn"


def _count(tasks: Any) -> int:
    return len(cast("list[Any]", tasks)) if isinstance(tasks, list) else 0
