"""What a runner remembers of its turns, and what becomes of them after a crash."""

import msgspec
import pytest

from fairlead.core.engine import HandingOver, Invocation, ToolStarted, TurnEnded, TurnFailed
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.machines.messages import RunTurn, SentFile, StoredImage
from fairlead.core.machines.runner_state import (
    AgentTurnTaken,
    DaemonMet,
    EpochBegun,
    RunnerFact,
    RunnerFounded,
    RunnerState,
    TurnEventsNoted,
    TurnsSettled,
    TurnTaken,
    end_lost_turns,
    has_unknown_owner,
    named_files,
)
from fairlead.errors import Code


def order(turn_id: str) -> RunTurn:
    invocation = Invocation(
        job_id=JobId(turn_id.partition("#")[0]),
        session_key=SessionKeyText("s"),
        generation=1,
        project_name="gpu/trainer",
        project_path="/srv",
        workspace_path="/w",
        prompt="hi",
        mark="m",
    )
    return RunTurn(turn_id=turn_id, agent="echo", invocation=invocation)


def made_of(*facts: RunnerFact) -> RunnerState:
    state = RunnerState()
    for fact in facts:
        state.apply(fact)
    return state


BEGIN = (RunnerFounded(runner_id="r1", machine="gpu"), EpochBegun(epoch=3, token="t3"), DaemonMet(epoch=7))


@pytest.mark.req("H3", "H6")
def test_after_a_crash_only_turns_whose_agent_had_the_prompt_are_lost():
    state = made_of(
        *BEGIN,
        TurnTaken(order=order("J1#1")),
        TurnTaken(order=order("J2#1")),
        TurnEventsNoted(turn_id="J2#1", events=(HandingOver(), ToolStarted("1", "Bash"))),
        TurnTaken(order=order("J3#1")),
        TurnEventsNoted(turn_id="J3#1", events=(HandingOver(), TurnEnded("done"))),
        AgentTurnTaken(turn_id="A", agent="echo", session_key=SessionKeyText("s"), generation=1, agent_turn="x"),
    )
    lost = end_lost_turns(state)
    unknown = TurnFailed(Code.E_UNKNOWN_AFTER_CRASH, "The runner ended while the agent worked.")
    assert lost == [TurnEventsNoted(turn_id=turn_id, events=(unknown,)) for turn_id in ("J2#1", "A")]


@pytest.mark.req("H3")
def test_the_facts_of_a_state_make_the_same_state_again():
    state = made_of(
        *BEGIN,
        TurnTaken(order=order("J1#1")),
        TurnEventsNoted(turn_id="J1#1", events=(HandingOver(),)),
        TurnEventsNoted(turn_id="J1#1", events=(TurnEnded("done"),)),
        TurnTaken(order=order("J2#1")),
        TurnsSettled(turn_ids=("J1#1",)),
    )
    again = made_of(*state.facts())
    assert again.facts() == state.facts()
    assert list(again.turns) == ["J2#1"]
    assert (again.runner_id, again.epoch, again.daemon_epoch) == ("r1", 3, 7)


@pytest.mark.req("H3")
def test_pictures_are_needed_as_long_as_their_turn_is_kept():
    picture = StoredImage(media_type="image/png", digest="d1")
    state = made_of(
        *BEGIN, TurnTaken(order=order("J1#1")), TurnEventsNoted(turn_id="J1#1", events=(HandingOver(), picture))
    )
    assert list(named_files(state)) == ["d1"]
    state.apply(TurnsSettled(turn_ids=("J1#1",)))
    assert list(named_files(state)) == []


@pytest.mark.req("H3")
def test_files_of_people_are_needed_until_their_prompt_is_handed_over():
    sent = SentFile(digest="d2", name="a.txt", media_type="text/plain")
    state = made_of(*BEGIN, TurnTaken(order=msgspec.structs.replace(order("J1#1"), files=(sent,))))
    assert list(named_files(state)) == ["d2"]
    state.apply(TurnEventsNoted(turn_id="J1#1", events=(HandingOver(),)))
    assert list(named_files(state)) == []


@pytest.mark.req("H5")
def test_a_claim_by_somebody_whom_this_journal_does_not_know_is_noticed():
    state = made_of(*BEGIN)
    assert not has_unknown_owner(state, "")  # nobody has the name
    assert not has_unknown_owner(state, "t3")
    assert has_unknown_owner(state, "other")
