"""A table of processes that agents leave behind when their daemon dies, and that the next start must end."""

import msgspec


class SimulatedProcess(msgspec.Struct, frozen=True):
    """`mark` begins with the id of the state whose daemon started it."""

    pid: int
    mark: str
    command: str = "agent"


class SimulatedProcesses:
    def __init__(self) -> None:
        self.left: list[SimulatedProcess] = []
        self.ended = 0
        self._made = 0

    def leave(self, mark: str) -> SimulatedProcess:
        self._made += 1
        self.left.append(SimulatedProcess(self._made, mark))
        return self.left[-1]

    def end(self, mark_prefix: str) -> list[SimulatedProcess]:
        """End those whose mark begins so, and give them."""
        found = [process for process in self.left if process.mark.startswith(mark_prefix)]
        self.left = [process for process in self.left if process not in found]
        self.ended += len(found)
        return found
