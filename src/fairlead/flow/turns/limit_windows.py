"""What agents last said about the limits of their accounts, by runtime. In memory: an agent says it again."""

from fairlead.core.engine import LimitWindow


class LimitWindows:
    def __init__(self) -> None:
        self._windows: dict[str, dict[str, LimitWindow]] = {}

    def note(self, runtime: str, windows: tuple[LimitWindow, ...]) -> None:
        known = self._windows.setdefault(runtime, {})
        known.update({window.name: window for window in windows})

    def of_runtime(self, runtime: str) -> tuple[LimitWindow, ...]:
        return tuple(self._windows.get(runtime, {}).values())

    def all(self) -> dict[str, tuple[LimitWindow, ...]]:
        return {runtime: tuple(windows.values()) for runtime, windows in self._windows.items() if windows}

    def find_spent(self, runtime: str) -> LimitWindow | None:
        """The spent window that lasts longest, of those whose end is known."""
        spent = [window for window in self.of_runtime(runtime) if window.is_spent and window.resets_at]
        return max(spent, key=lambda window: window.resets_at, default=None)


def window_words(window: LimitWindow, *, can_schedule: bool) -> str:
    """When a limit is over, and, where there are schedules, how to have a message sent then."""
    moment = f"{window.resets_at[:16]}Z"
    words = f"The limit of the agent's account ({window.name}) is used up until {moment}."
    return f'{words} To try it then: /schedule add "{moment}" "…"' if can_schedule else words
