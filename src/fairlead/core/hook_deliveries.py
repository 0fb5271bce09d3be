"""Deliveries for hooks: whether what somebody sent is believed, and the event that it is. Knows no request, no file and
no clock.

1. Who knows a hook's secret may use it. A signature is compared in constant time.
2. An event is taken once. GitHub signs the body and no header, so there the signature itself names the event: a copy
   with another delivery id is the same event. The form «signed» signs the id of the delivery and its time.
"""

import hashlib
import hmac
import re
from typing import Any, Final, cast

import msgspec

from fairlead.core.hooks import EVENT_NAME_FORM, Event, HookFields, HookForm
from fairlead.errors import Code, error

MAX_SKEW_SEC: Final = 300
"""How far the time of a signed delivery may be from ours: a copy that is older is refused."""
_DELIVERY_ID: Final = re.compile(r"[A-Za-z0-9_.:+=-]{1,100}")
_NOBODYS_KEY: Final = "0" * 64
"""Against this a delivery for an unknown hook is checked, so that it takes as long as one for a known hook."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody sent to a hook, before anything of it is believed. `event` and `number` are what GitHub's headers
    say; `stamp` is the time that the sender claims, in seconds since 1970."""

    hook: str
    body: bytes
    signature: str = ""
    event: str = ""
    number: str = ""
    stamp: str = ""


def signature_of(form: HookForm, secret: str, delivery: Delivery) -> str:
    """The right signature of a delivery."""
    signed = delivery.body if form == "github" else f"{delivery.stamp}.{delivery.number}.".encode() + delivery.body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def is_genuine(hook: HookFields | None, secret: str, delivery: Delivery, now_sec: float) -> bool:
    """False for an unknown hook, for a wrong signature, and for a signed time that is not now: nobody is told which."""
    form: HookForm = hook.form if hook is not None else "github"
    right = signature_of(form, secret or _NOBODYS_KEY, delivery)
    is_right = hmac.compare_digest(right.encode(), delivery.signature.strip().lower().encode("utf-8", "replace"))
    if hook is None or not secret or not is_right:
        return False
    return form == "github" or (
        _DELIVERY_ID.fullmatch(delivery.number) is not None and _is_now(delivery.stamp, now_sec)
    )


def _is_now(stamp: str, now_sec: float) -> bool:
    return stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12 and abs(int(stamp) - now_sec) <= MAX_SKEW_SEC


def read_event(hook: HookFields, delivery: Delivery) -> Event:
    """Raises E_INVALID_ARGS for a body that is not a JSON object."""
    try:
        body = msgspec.json.decode(delivery.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise error(Code.E_INVALID_ARGS, "The body is not JSON.") from None
    if not isinstance(body, dict):
        raise error(Code.E_INVALID_ARGS, "The body must be a JSON object.")
    fields = cast("dict[str, Any]", body)
    if hook.form == "github":
        name, key = delivery.event, delivery.signature.strip().lower().removeprefix("sha256=")[:40]
    else:
        said = fields.get("event")
        name, key = said if isinstance(said, str) else "", delivery.number
    return Event(key=key, name=name if EVENT_NAME_FORM.fullmatch(name) else "", body=fields)
