"""One row of the table: what was measured, its floor from the same run, and how far it was to reach."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

Unit = Literal["µs", "ms", "s", "/s", "MiB", "KiB", "kB"]


class Row(msgspec.Struct, frozen=True):
    name: str
    measured: float
    floor: float | None
    floor_name: str
    unit: Unit
    reach: str
    reached: bool
    spread: str = ""
    """The middle half of the ratios, where ours and the floor were measured in pairs."""

    def cells(self) -> tuple[str, ...]:
        ratio = f"{self.measured / self.floor:.2f}x" if self.floor else ""
        floor = f"{_number(self.floor)} {self.unit}" if self.floor is not None else "-"
        mark = "yes" if self.reached else "NO"
        return (
            self.name,
            f"{_number(self.measured)} {self.unit}",
            f"{floor} ({self.floor_name})",
            ratio,
            self.spread,
            self.reach,
            mark,
        )


class NotMeasured(msgspec.Struct, frozen=True):
    """A row whose parts are not on this machine; `what_to_do` brings them."""

    name: str
    what_to_do: str

    def cells(self) -> tuple[str, ...]:
        return (self.name, f"not measured: {self.what_to_do}", "", "", "", "", "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def at_most(name: str, measured: float, floor: float, *, floor_name: str, unit: Unit, factor: float) -> Row:
    return Row(
        name=name,
        measured=measured,
        floor=floor,
        floor_name=floor_name,
        unit=unit,
        reach=f"≤ {factor:g}x",
        reached=measured <= floor * factor,
    )


def paired_at_most(
    name: str, ours: Sequence[float], floors: Sequence[float], *, floor_name: str, unit: Unit, factor: float
) -> Row:
    """Medians of what was measured in turn (ours, floor, ours, floor …), and the spread of the pairs."""
    row = at_most(
        name, statistics.median(ours), statistics.median(floors), floor_name=floor_name, unit=unit, factor=factor
    )
    return msgspec.structs.replace(row, spread=spread_of(ours, floors))


def spread_of(ours: Sequence[float], floors: Sequence[float]) -> str:
    low, _, high = statistics.quantiles([a / b for a, b in zip(ours, floors, strict=True)], n=4)
    return f"{low:.2f}x to {high:.2f}x"


def table(rows: Sequence[Row | NotMeasured]) -> str:
    head = ("row", "measured", "floor", "ratio", "spread", "reach", "reached")
    cells = [head, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def forget_earlier_rows() -> None:
    """What other rows left in this process is no part of the next one: in life it has a process of its own."""
    gc.collect()
    gc.freeze()


def side_by_side(ours: Callable[[], float], floor: Callable[[], float], times: int) -> tuple[float, float]:
    """Both in turn, so that whatever else the machine does meets both; the best of each."""
    pairs = [(ours(), floor()) for _ in range(times)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)
