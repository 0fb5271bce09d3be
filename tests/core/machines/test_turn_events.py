"""The events of a remote turn, whatever is sent again, too late or too early."""

import pytest

from fairlead.core.engine import TextDelta, ToolStarted, TurnEnded
from fairlead.core.machines.messages import TurnEvent, TurnShown, TurnTold
from fairlead.core.machines.turn_events import TurnReader

ONE, TWO, END = ToolStarted("1", "Bash"), ToolStarted("2", "Edit"), TurnEnded("done")


def said(first: int, *events: TurnEvent) -> TurnTold:
    return TurnTold(turn_id="J1#1", first=first, events=events)


@pytest.mark.req("H4")
def test_repeats_are_dropped_and_a_hole_is_named():
    reader = TurnReader()
    assert reader.hear(said(0, ONE)) == [ONE]
    assert reader.hear(said(0, ONE, TWO)) == [TWO]
    assert reader.hear(said(0, ONE)) == []
    assert reader.hear(said(3, END)) is None
    assert reader.hear(said(2, END)) == [END]
    assert reader.count == 3


@pytest.mark.req("H4")
def test_words_that_are_only_shown_keep_their_place_among_the_lasting_events():
    reader = TurnReader()
    behind_one = TurnShown(turn_id="J1#1", after=1, events=(TextDelta("b"),))
    late = TurnShown(turn_id="J1#1", after=0, events=(TextDelta("a"),))
    assert reader.hear_live(behind_one) == []
    assert reader.hear(said(0, ONE, TWO)) == [ONE, behind_one, TWO]
    assert reader.hear_live(late) == []
