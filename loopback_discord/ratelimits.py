"""Buckets, the global limit and the count of invalid requests.

Knows routes and time, not what the routes do.
"""

import hashlib
import time
from collections import deque
from collections.abc import Callable

import msgspec

from .clock import Clock


class Rule(msgspec.Struct, frozen=True):
    limit: int
    per_s: float


REACTIONS = "reactions"
MESSAGE = "/channels/{channel_id}/messages/{message_id}"
DEFAULT_RULES: dict[str, Rule] = {
    "POST /channels/{channel_id}/messages": Rule(5, 5),
    f"PATCH {MESSAGE}": Rule(5, 5),
    f"DELETE {MESSAGE}": Rule(5, 1),
    REACTIONS: Rule(1, 0.25),
    "POST /channels/{channel_id}/typing": Rule(5, 5),
    "GET /channels/{channel_id}/messages": Rule(5, 1),
    "PATCH /channels/{channel_id}": Rule(5, 15),
    f"POST {MESSAGE}/threads": Rule(50, 300),
    "POST /channels/{channel_id}/threads": Rule(50, 300),
    "POST /webhooks/{webhook_id}/{webhook_token}": Rule(5, 2),
    "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}": Rule(5, 2),
    "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original": Rule(5, 2),
    "PUT /applications/{application_id}/commands": Rule(5, 20),
    "PUT /applications/{application_id}/guilds/{guild_id}/commands": Rule(5, 20),
    "POST /users/@me/channels": Rule(10, 10),
}
# Sub-limits, which no header announces: the client meets them as a plain 429.
RENAME = Rule(2, 600)
EDIT_OLD_MESSAGE = Rule(3, 60)
MAJOR_PARAMETERS = ("channel_id", "guild_id", "webhook_id", "webhook_token")


class Window:
    """A fixed window that opens with its first request, as Discord's buckets do."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.used = 0
        self.resets_at = 0.0

    def take(self, now: float) -> bool:
        if now >= self.resets_at:
            self.used, self.resets_at = 0, now + self.rule.per_s
        if self.used >= self.rule.limit:
            return False
        self.used += 1
        return True


class Limited(Exception):  # noqa: N818 - an answer, not a fault
    def __init__(self, retry_after: float, *, scope: str, code: int = 0, headers: dict[str, str]) -> None:
        super().__init__(f"429, try again in {retry_after:.3f} s ({scope})")
        self.retry_after = retry_after
        self.scope = scope
        self.code = code
        self.headers = headers


class RateLimits:
    """`rules` may be replaced or emptied by tests; a route without a rule has `default`."""

    def __init__(self, clock: Clock, *, virtual_time: bool = False) -> None:
        self.rules = dict(DEFAULT_RULES)
        self.default: Rule | None = Rule(50, 1)
        self.global_rule = Rule(50, 1)
        self.enabled = True
        self._clock = clock
        self._now: Callable[[], float] = clock.now if virtual_time else time.monotonic
        self._windows: dict[str, Window] = {}
        self._recent: deque[float] = deque()

    def admit(self, method: str, template: str, parameters: dict[str, str], *, globally: bool = True) -> dict[str, str]:
        """The headers of an admitted request; raises Limited for one too many."""
        if not self.enabled or template.startswith(("/interactions/", "/attachments/")):
            return {}
        now = self._now()
        if globally:
            self._admit_globally(now)
        route = REACTIONS if "/reactions/" in template else f"{method} {template}"
        rule = self.rules.get(route, self.default)
        if rule is None:
            return {}
        bucket = hashlib.blake2s(route.encode(), digest_size=16).hexdigest()
        major = "+".join(parameters[name] for name in MAJOR_PARAMETERS if name in parameters)
        window = self._window(f"{route} {major}", rule)
        admitted = window.take(now)
        headers = self._headers(window, bucket, now)
        if not admitted:
            raise Limited(max(window.resets_at - now, 0.001), scope="user", headers=headers)
        return headers

    def admit_within(self, name: str, rule: Rule, *, code: int = 0) -> None:
        """A sub-limit: counted like a bucket, announced by nothing."""
        now = self._now()
        window = self._window(name, rule)
        if self.enabled and not window.take(now):
            raise Limited(max(window.resets_at - now, 0.001), scope="user", code=code, headers={})

    def _admit_globally(self, now: float) -> None:
        rule = self.global_rule
        while self._recent and self._recent[0] <= now - rule.per_s:
            self._recent.popleft()
        if len(self._recent) >= rule.limit:
            raise Limited(self._recent[0] + rule.per_s - now, scope="global", headers={})
        self._recent.append(now)

    def _window(self, key: str, rule: Rule) -> Window:
        window = self._windows.get(key)
        if window is None or window.rule != rule:
            window = self._windows[key] = Window(rule)
        return window

    def _headers(self, window: Window, bucket: str, now: float) -> dict[str, str]:
        left = max(window.resets_at - now, 0.0)
        return {
            "X-RateLimit-Limit": str(window.rule.limit),
            "X-RateLimit-Remaining": str(window.rule.limit - window.used),
            "X-RateLimit-Reset": f"{self._clock.now() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": bucket,
        }
