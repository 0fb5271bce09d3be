"""The events of one remote turn as the daemon hears them: in order, each once, whatever is sent again. Pure."""

from fairlead.core.machines.messages import TurnEvent, TurnShown, TurnTold

MOST_LIVE = 256


class TurnReader:
    """`count` events were heard: the runner is asked for those from there on."""

    def __init__(self) -> None:
        self.count = 0
        self._live: list[TurnShown] = []

    def hear(self, said: TurnTold) -> list[TurnEvent | TurnShown] | None:
        """The new ones, and between them what can be shown now; None if some before them are missing."""
        if said.first > self.count:
            return None
        heard: list[TurnEvent | TurnShown] = []
        for event in said.events[self.count - said.first :]:
            self.count += 1
            heard.append(event)
            if self._live:
                heard += self._take_live()
        return heard

    def hear_live(self, said: TurnShown) -> list[TurnShown]:
        """What can be shown now. What came too late is dropped; what comes behind events that are still on their way
        waits for them."""
        if said.after >= self.count and len(self._live) < MOST_LIVE:
            self._live.append(said)
        return self._take_live()

    def _take_live(self) -> list[TurnShown]:
        now = [live for live in self._live if live.after == self.count]
        self._live = [live for live in self._live if live.after > self.count]
        return now
