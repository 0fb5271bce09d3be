"""What deliberate bugs share."""

from typing import Any


class HastyLedger:
    """A ledger that waits for no disk in the calls named `hasty`. A bug gives it to one object of one world: a method
    of the class itself, replaced while a coroutine runs, would stay replaced where two of them overlap."""

    def __init__(self, ledger: Any, *hasty: str) -> None:
        self._ledger = ledger
        self._hasty = hasty

    def __getattr__(self, name: str) -> Any:
        return getattr(self, f"_{name}") if name in self._hasty else getattr(self._ledger, name)

    async def _until_all_durable(self) -> None:
        pass

    async def _record_durably(self, command: Any) -> Any:
        decision = self._ledger.apply_now(command)
        if decision.refusal is not None:
            raise decision.refusal
        return decision
