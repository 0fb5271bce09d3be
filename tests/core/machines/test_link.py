"""Two ends and a wire that loses, doubles and reorders: everything arrives, once and in order."""

from random import Random

import msgspec
import pytest

from fairlead.core.machines.link import ASK_AGAIN_SEC, RESEND_SEC, Link, LinkFrame


class End:
    """A link, what it was given, and how it sends."""

    def __init__(self, epoch: int) -> None:
        self.link = Link(epoch)
        self.got: list[str] = []
        self.new_peers = 0

    def send(self, now: float) -> list[LinkFrame]:
        due = [self.link.frame(number=n, message=msgspec.Raw(msgspec.json.encode(m))) for n, m in self.link.due(now)]
        return [*self.link.signs(now), *due]

    def hear(self, frame: LinkFrame, now: float) -> list[LinkFrame]:
        message = msgspec.json.decode(frame.message) if frame.number else None
        heard = self.link.hear(frame, now, message)
        self.new_peers += heard.is_new_peer
        for number, said in heard.messages:
            self.got.append(said)
            self.link.take(number)
        return heard.frames


def connect(daemon: End, runner: End, now: float = 0.0) -> None:
    """A greeting, its answer, and the first word of whoever heard it."""
    exchange(daemon, runner, now)
    for end in (daemon, runner):
        if end.link.is_up:
            end.link.post("hello")
    exchange(daemon, runner, now)


def exchange(one: End, other: End, now: float) -> None:
    """Everything that either has to say arrives, until both are quiet."""
    while True:
        frames = [(other, frame) for frame in one.send(now)] + [(one, frame) for frame in other.send(now)]
        if not frames:
            return
        while frames:
            to, frame = frames.pop(0)
            sender = one if to is other else other
            frames += [(sender, answer) for answer in to.hear(frame, now)]


@pytest.mark.req("H4")
def test_both_ends_know_each_other_after_a_greeting():
    daemon, runner = End(3), End(8)
    connect(daemon, runner)
    assert (daemon.link.is_up, daemon.link.peer_epoch, daemon.new_peers) == (True, 8, 1)
    assert (runner.link.is_up, runner.link.peer_epoch, runner.new_peers) == (True, 3, 1)


@pytest.mark.req("H4")
@pytest.mark.parametrize("seed", range(40))
def test_everything_arrives_once_and_in_order_over_a_wire_that_loses_doubles_and_reorders(seed: int):
    rng = Random(seed)
    ends = {"daemon": End(1), "runner": End(1)}
    said: dict[str, list[str]] = {"daemon": [], "runner": []}
    on_the_way: list[tuple[float, str, LinkFrame]] = []
    now = 0.0
    for step in range(4000):
        now += rng.choice((0.01, 0.2, 2.0))
        other = {"daemon": "runner", "runner": "daemon"}
        for name, end in ends.items():
            if step < 300 and end.link.is_up and rng.random() < 0.5:
                said[name].append(f"{name} {len(said[name])}")
                end.link.post(said[name][-1])
            elif end.new_peers and not said[name]:
                said[name].append(f"{name} 0")
                end.link.post(said[name][-1])
            for frame in end.send(now):
                copies = rng.choice((0, 1, 1, 2))
                on_the_way += [(now + rng.uniform(0, 20), other[name], frame) for _ in range(copies)]
        due = [each for each in on_the_way if each[0] <= now]
        on_the_way = [each for each in on_the_way if each[0] > now]
        rng.shuffle(due)
        for _, to, frame in due:
            answers = ends[to].hear(frame, now)
            on_the_way += [(now + rng.uniform(0, 20), other[to], answer) for answer in answers]
    assert ends["runner"].got == said["daemon"]
    assert ends["daemon"].got == said["runner"]
    assert len(said["daemon"]) > 100
    assert ends["daemon"].link.owes == ends["runner"].link.owes == 0


@pytest.mark.req("H4")
def test_a_message_is_sent_again_after_a_while_with_the_same_number_until_it_is_taken():
    daemon, runner = End(1), End(1)
    connect(daemon, runner)
    number = daemon.link.post("run")
    (first,) = daemon.send(1.0)
    assert daemon.send(1.0 + RESEND_SEC - 0.1) == []
    (again,) = daemon.send(1.0 + RESEND_SEC)
    assert first.number == again.number == number
    runner.hear(again, 20.0)
    runner.hear(first, 20.0)
    (receipt,) = runner.send(20.0)
    daemon.hear(receipt, 20.0)
    assert runner.got[-1:] == ["run"]
    assert not daemon.link.is_owed(number)


@pytest.mark.req("H4")
def test_a_receipt_is_not_given_before_the_owner_has_the_message_safe():
    daemon, runner = End(1), End(1)
    connect(daemon, runner)
    number = daemon.link.post("run")
    (frame,) = daemon.send(1.0)
    heard = runner.link.hear(frame, 1.0, "run")
    assert heard.messages == [(number, "run")]
    assert runner.link.signs(1.0) == []
    runner.link.take(number)
    assert [sign.taken for sign in runner.link.signs(1.0)] == [number]


@pytest.mark.req("H4")
def test_a_receipt_that_was_lost_is_given_again():
    daemon, runner = End(1), End(1)
    connect(daemon, runner)
    number = daemon.link.post("run")
    (frame,) = daemon.send(1.0)
    runner.hear(frame, 1.0)
    runner.send(1.0)  # lost
    assert runner.send(2.0) == []
    runner.hear(frame, 20.0)
    (receipt,) = runner.send(20.0)
    assert receipt.taken == number


@pytest.mark.req("H4")
def test_a_gap_is_asked_for_again_and_not_stepped_over():
    daemon, runner = End(1), End(1)
    connect(daemon, runner)
    for word in ("one", "two", "three"):
        daemon.link.post(word)
    _, second, third = daemon.send(1.0)
    assert runner.hear(second, 1.0)[0].missing == (second.number - 1, second.number - 1)
    assert runner.hear(third, 1.0) == []  # it has just asked
    assert runner.got[-1:] == ["hello"]
    (asked,) = runner.hear(third, 1.0 + ASK_AGAIN_SEC)
    daemon.hear(asked, 2.0)
    (first,) = daemon.send(2.0)
    runner.hear(first, 2.0)
    assert runner.got[-3:] == ["one", "two", "three"]


@pytest.mark.req("H5")
def test_an_older_process_of_the_same_name_is_not_heard_and_learns_that_it_is_superseded():
    daemon, old, new = End(1), End(4), End(5)
    connect(daemon, old)
    connect(daemon, new)
    old.link.post("I still work")
    got = list(daemon.got)
    (late,) = old.send(100.0)
    (told,) = daemon.hear(late, 100.0)
    old.hear(told, 100.0)
    new.hear(told, 100.0)
    assert daemon.got == got
    assert (old.link.superseded_by, new.link.superseded_by) == (5, 0)


@pytest.mark.req("H5")
def test_a_process_that_hears_what_is_meant_for_its_successor_does_nothing_but_end():
    daemon, old, new = End(1), End(4), End(5)
    connect(daemon, old)
    connect(daemon, new)
    daemon.link.post("run")
    (order,) = daemon.send(1.0)
    got = list(old.got)
    assert old.hear(order, 1.0) == []
    assert (old.got, old.link.superseded_by) == (got, 5)


@pytest.mark.req("H5")
def test_an_epoch_that_was_seen_before_a_restart_is_not_fallen_behind():
    restarted = Link(9, peer_epoch=6)
    heard = restarted.hear(LinkFrame(sender=5, receiver=9, number=1), 0.0, "run")
    assert (heard.messages, heard.is_new_peer, restarted.is_up) == ([], False, False)


@pytest.mark.req("H5")
def test_numbers_begin_again_with_a_new_process_and_what_was_meant_for_the_old_one_is_not_heard():
    daemon, old = End(1), End(4)
    connect(daemon, old)
    daemon.link.post("run")
    (order,) = daemon.send(1.0)
    new = End(5)
    connect(daemon, new)
    assert new.hear(order, 2.0) != []  # it says who it is
    assert new.got == []
    assert daemon.new_peers == 2
