"""Whom a message may ring for is what it was planned for, and nobody else."""

from fairlead.channels.discord.outbound.mentions import ringing


def test_a_message_for_nobody_is_silent_and_may_mention_nobody():
    how = ringing(())
    assert how["silent"] is True
    assert how["allowed_mentions"].to_dict() == {"users": [], "parse": []}


def test_a_message_for_somebody_rings_and_may_mention_that_person_alone():
    how = ringing(("42", "no number"))
    assert how["silent"] is False
    assert how["allowed_mentions"].to_dict() == {"users": [42], "parse": []}
