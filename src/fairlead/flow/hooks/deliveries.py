"""The way in for events of hooks: checked, then a message like any other. Knows no request and no header."""

import asyncio
from typing import Final

import msgspec

from fairlead.core import message_ids, timestamps
from fairlead.core.hook_deliveries import Delivery, is_genuine, read_event
from fairlead.core.hooks import Event, HookFields, make_prompt, why_unwanted
from fairlead.core.ids import NO_SESSION
from fairlead.core.inbound import Inbound
from fairlead.core.keys import parse_session_key
from fairlead.errors import Code, error
from fairlead.flow.intake.messages import MessageIntake
from fairlead.flow.ledger import Ledger
from fairlead.ports import HookReceipt, HookSecrets

_MINUTE: Final = 60.0


class HookDeliveries:
    def __init__(self, ledger: Ledger, intake: MessageIntake, secrets: HookSecrets) -> None:
        self._ledger = ledger
        self._intake = intake
        self._secrets = secrets
        self._paces: dict[str, _Pace] = {}

    async def take(self, delivery: Delivery) -> HookReceipt:
        """Returns when the job is durable. Raises E_UNAUTHORIZED for a hook that is not there and for a signature that
        is wrong alike, and the FairleadError that refuses the event."""
        hook = self._ledger.state.hooks.get(delivery.hook)
        secret = await self._secrets.read(hook.name) if hook is not None else ""
        if not is_genuine(hook, secret, delivery, timestamps.to_epoch(self._ledger.now())) or hook is None:
            raise error(Code.E_UNAUTHORIZED, "There is no such hook, or the signature does not fit.")
        event = read_event(hook, delivery)
        reason = why_unwanted(hook, event)
        return HookReceipt(reason=reason) if reason else await self.submit(hook, event)

    async def submit(self, hook: HookFields, event: Event) -> HookReceipt:
        """An event that the hook wants: one job, however often and however many at once it comes."""
        inbound = _inbound_of(hook, event)
        if self._ledger.state.outcome_of(inbound.conversation, inbound.message_id) is None:
            self._keep_pace(hook.name)
        receipt = await self._intake.submit(inbound)
        return HookReceipt(receipt.job_id, duplicate=receipt.duplicate)

    def _keep_pace(self, name: str) -> None:
        """New events alone count: copies of an old one cost nothing and must not keep a new one out."""
        limit = self._ledger.limits.hook_events_per_minute
        now = asyncio.get_running_loop().time()
        paces = self._paces = {name: pace for name, pace in self._paces.items() if name in self._ledger.state.hooks}
        pace = paces.setdefault(name, _Pace(float(limit), now))
        pace.left = min(float(limit), pace.left + (now - pace.at) * limit / _MINUTE)
        pace.at = now
        if pace.left < 1:
            raise error(Code.E_TOO_MANY_EVENTS, f"The hook {name} takes {limit} events a minute.")
        pace.left -= 1


class _Pace(msgspec.Struct):
    """How many events a hook may still take, as of `at`."""

    left: float
    at: float


def _inbound_of(hook: HookFields, event: Event) -> Inbound:
    """The signature is the authorisation. What the event says is foreign: nothing is approved in advance for it."""
    session_key = parse_session_key(hook.session_key)
    assert session_key is not None, "only built keys reach the journal"
    is_own = hook.session == "own"
    return Inbound(
        conversation=hook.conversation,
        session_key=session_key,
        message_id=message_ids.hook_id(hook.name, event.key),
        person=hook.person,
        text=make_prompt(hook, event),
        pre_authorised=True,
        project=hook.project if is_own else None,
        runtime=hook.runtime or None,
        cause="hook",
        foreign=True,
        own_session=is_own,
        parent_session_key=hook.made_in if is_own else NO_SESSION,
    )
