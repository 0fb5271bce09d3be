"""Which turn an event of a long-lived Claude belongs to: the job's, one that Claude began by itself, or none. Pure.

A job's turn begins when Claude says that it took the prompt (by its uuid) and ends with the result that names it.
Outside of that, Claude acts in turns of its own: a background command ended, a sub-agent reported.

A text that is given to a turn has a uuid too. Claude takes it up between two tools, and its result then names both; or,
where no tool comes, after the result of the prompt, with a result of its own. The job's turn ends when a result has
named all of them.
"""

from typing import Any, Literal, cast

from fairlead.runtimes.claude import wire

Belongs = Literal["job", "agent turn", "process"]


class TurnRouter:
    def __init__(self) -> None:
        self._unanswered: set[str] = set()
        """The prompt, and the texts given to its turn, that no result has named yet."""
        self._untaken: set[str] = set()
        """Those of them that Claude has not taken up yet."""
        self._has_begun = False
        self.background_tasks = 0

    def expect(self, prompt_uuid: str) -> None:
        self._unanswered, self._untaken, self._has_begun = {prompt_uuid}, {prompt_uuid}, False

    def add_text(self, uuid: str) -> None:
        self._unanswered.add(uuid)
        self._untaken.add(uuid)

    def forget(self) -> None:
        self._unanswered, self._untaken, self._has_begun = set(), set(), False

    @property
    def awaits_more(self) -> bool:
        """Whether a result is still to come that belongs to the job."""
        return bool(self._unanswered)

    def note_lifecycle(self, uuid: str, state: str) -> None:
        if state == "started":
            self._begin_with(uuid)
        elif state == "cancelled" and uuid in self._untaken:
            self._unanswered.discard(uuid)
            self._untaken.discard(uuid)

    def route(self, event: wire.Event) -> Belongs:
        if isinstance(event, wire.StreamEvent):  # nearly every line is one, and `match` would take longer
            return self._current_owner()
        match event:
            case wire.ControlResponse():
                return "process"
            case wire.CommandLifecycle():
                self.note_lifecycle(event.command_uuid, event.state)
                return "process"
            case wire.System(subtype="background_tasks_changed"):
                self.background_tasks = _count(event.tasks)
                return "process"
            case wire.User(is_replay=True):
                self._begin_with(event.uuid or "")
                return "process"
            case wire.Assistant():
                self._begin_with(event.user_message_uuid or "")
                return self._current_owner()
            case wire.RateLimit():  # it may come before the prompt is said to be taken
                return "job" if self._unanswered else "agent turn"
            case wire.Result():
                return self._owner_of_result(event)
            case _:
                return self._current_owner()

    def _begin_with(self, uuid: str) -> None:
        if uuid in self._unanswered:
            self._untaken.discard(uuid)
            self._has_begun = True

    def _current_owner(self) -> Belongs:
        return "job" if self._has_begun else "agent turn"

    def _owner_of_result(self, event: wire.Result) -> Belongs:
        if event.user_message_uuid:
            named = {event.user_message_uuid, *(event.user_message_uuids or ())}
            if not named & self._unanswered:
                return "process"  # a late one, of a job that was given up
            self._unanswered -= named
            self._has_begun = False  # what comes before the next text is taken up is no part of the job
            return "job"
        if event.origin is not None and event.origin.kind == "task-notification":
            return "agent turn"
        # Older versions name no prompt, and refusals at the start never do.
        is_job = bool(self._unanswered)
        self._unanswered = self._untaken & self._unanswered if self._has_begun else set()
        return "job" if is_job else "agent turn"


def _count(tasks: Any) -> int:
    return len(cast("list[Any]", tasks)) if isinstance(tasks, list) else 0
