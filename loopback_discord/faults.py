"""Faults that tests order for coming requests. Says what shall go wrong; the server makes it happen."""

import asyncio
import fnmatch
from collections.abc import Callable
from typing import Any

import msgspec


class Fault(msgspec.Struct, eq=False):
    """One way to go wrong.

    `worked` faults let the request take effect first, so that its outcome is unknown.
    """

    kind: str
    worked: bool = False
    code: int = 500
    retry_after: float = 0.0
    is_global: bool = False
    location: str = ""
    delay_s: float = 0.0
    released: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    @classmethod
    def status(cls, code: int) -> "Fault":
        return cls("status", code=code)

    @classmethod
    def after_work(cls, code: int = 500) -> "Fault":
        return cls("status", worked=True, code=code)

    @classmethod
    def reset(cls) -> "Fault":
        return cls("reset")

    @classmethod
    def reset_after_work(cls) -> "Fault":
        return cls("reset", worked=True)

    @classmethod
    def hang(cls) -> "Fault":
        """No answer until `release()`; then the request goes on as if nothing had been."""
        return cls("hang")

    @classmethod
    def hang_after_work(cls) -> "Fault":
        return cls("hang", worked=True)

    @classmethod
    def rate_limit(cls, retry_after: float, *, is_global: bool = False) -> "Fault":
        return cls("rate_limit", retry_after=retry_after, is_global=is_global)

    @classmethod
    def ban(cls, retry_after: float) -> "Fault":
        """Cloudflare before Discord: 429 with a page for people, and the wait in the header alone."""
        return cls("ban", retry_after=retry_after)

    @classmethod
    def redirect(cls, location: str) -> "Fault":
        return cls("redirect", location=location)

    @classmethod
    def slow(cls, seconds: float) -> "Fault":
        return cls("slow", delay_s=seconds)

    def release(self) -> None:
        self.released.set()


class Order(msgspec.Struct, eq=False):
    method: str
    pattern: str
    fault: Fault
    left: int | None
    when: Callable[[Any], bool] | None = None
    struck: int = 0

    def lift(self) -> None:
        self.left = 0
        self.fault.release()


class Faults:
    """Orders are tried in the order given; each strikes the requests it matches until it is used up."""

    def __init__(self) -> None:
        self._orders: list[Order] = []

    def next(
        self,
        method: str,
        pattern: str,
        fault: Fault,
        *,
        for_times: int = 1,
        when: Callable[[Any], bool] | None = None,
    ) -> Order:
        """`pattern` is a shell pattern over the path below /api/v10; `when` looks at the decoded body."""
        return self._add(Order(method, pattern, fault, for_times, when))

    def always(self, method: str, pattern: str, fault: Fault, *, when: Callable[[Any], bool] | None = None) -> Order:
        """Until `lift()` is called on what this returns."""
        return self._add(Order(method, pattern, fault, None, when))

    def clear(self) -> None:
        for order in self._orders:
            order.lift()
        self._orders.clear()

    def strike(self, method: str, path: str, body: object) -> Fault | None:
        for order in self._orders:
            if order.left == 0 or order.method not in (method, "*"):
                continue
            if fnmatch.fnmatchcase(path, order.pattern) and (order.when is None or order.when(body)):
                order.left = None if order.left is None else order.left - 1
                order.struck += 1
                return order.fault
        return None

    def _add(self, order: Order) -> Order:
        self._orders.append(order)
        return order
