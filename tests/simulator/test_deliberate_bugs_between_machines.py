"""Rules of the protocol between machines, each broken on purpose: the simulator must notice within a few worlds."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from fairlead.core.decide import job_ends
from fairlead.core.engine import HandingOver
from fairlead.core.machines.link import Heard, Link, LinkFrame
from fairlead.core.machines.messages import TurnEvent
from fairlead.core.machines.runner_state import KeptTurn
from fairlead.machines.remote_turns import RemoteTurns
from fairlead.runner import runner as runner_module
from fairlead.runner.runner import Runner
from fairlead.runner.turns import RunnerTurns
from fairlead.testing.machine_worlds import simulate_machines

WORLDS = 60

pytestmark = pytest.mark.req("H4", "H5", "H6")


def find_violation() -> str:
    """The first that any of the worlds shows."""
    for seed in range(WORLDS):
        report = simulate_machines(seed)
        if report.violations:
            return report.violations[0]
    pytest.fail(f"{WORLDS} worlds noticed nothing")


def test_an_order_that_is_acknowledged_before_it_is_in_the_journal(monkeypatch: pytest.MonkeyPatch):
    def acknowledge_at_once(self: Runner, number: int, message: Any) -> None:
        self._obey(message)
        assert self._endpoint is not None
        self._endpoint.take(number)
        self._endpoint._send_receipt()

    monkeypatch.setattr(Runner, "on_message", acknowledge_at_once)
    assert "no runner handed it over" in find_violation()


def test_a_gap_that_is_stepped_over(monkeypatch: pytest.MonkeyPatch):
    def take_what_comes(self: Link, number: int, message: Any, now: float, heard: Heard) -> None:
        del now
        if number > self._given and message is not None:
            self._given = number
            heard.messages.append((number, message))

    monkeypatch.setattr(Link, "_hear_message", take_what_comes)
    assert find_violation()


def test_a_frame_of_an_older_process_that_is_heard(monkeypatch: pytest.MonkeyPatch):
    def trust_everybody(self: Link, frame: LinkFrame, heard: Heard) -> bool:
        if frame.sender > self.peer_epoch:
            self.peer_epoch = frame.sender
            self.is_up = False
            self._begin()
        if not frame.receiver:
            heard.frames.append(LinkFrame(sender=self.epoch, receiver=self.peer_epoch))
        return bool(frame.receiver)

    monkeypatch.setattr(Link, "_is_between_us", trust_everybody)
    assert find_violation()


def test_a_message_that_is_sent_again_under_a_new_number(monkeypatch: pytest.MonkeyPatch):
    due = Link.due

    def renumber(self: Link, now: float) -> list[tuple[int, Any]]:
        for number in [n for n, owed in self._owed.items() if owed.sent_at >= 0 and now - owed.sent_at >= 15]:
            self._last_number += 1
            self._owed[self._last_number] = self._owed.pop(number)
        return due(self, now)

    monkeypatch.setattr(Link, "due", renumber)
    assert find_violation()


def test_a_prompt_that_is_handed_over_before_that_is_in_the_journal(monkeypatch: pytest.MonkeyPatch):
    note = RunnerTurns.note

    def hurry(self: RunnerTurns, turn_id: str, events: Sequence[TurnEvent]) -> int:
        number = note(self, turn_id, events)
        return 0 if isinstance(events[0], HandingOver) else number

    monkeypatch.setattr(RunnerTurns, "note", hurry)
    assert "was invoked 2 times" in find_violation()


def test_an_order_that_a_new_runner_takes_though_the_old_one_may_have_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RemoteTurns, "note_receipt", lambda self: None)
    monkeypatch.setattr(RunnerTurns, "_tell_unknown", lambda self, order: self.take(_forgetful(order)))
    assert "was invoked 2 times" in find_violation()


def _forgetful(order: Any) -> Any:
    return msgspec.structs.replace(order, was_taken=False)


def test_a_start_that_calls_turns_on_other_machines_interrupted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_ends, "machine_of", lambda path: "")
    assert find_violation()


def test_a_turn_that_is_called_lost_though_its_agent_had_no_prompt(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(KeptTurn, "is_handed_over", property(lambda self: True))
    assert "is called unknown" in find_violation()


def test_a_copied_journal_that_is_gone_on_with(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner_module, "has_unknown_owner", lambda state, token: False)
    assert "went on with its journal" in find_violation()
