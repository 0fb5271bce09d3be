"""Texts for turns that run: no text is both taken and run, none is lost, and none leaves before that is written."""

from collections import Counter

from fairlead.core import events as e
from fairlead.store.lines import JournalLine
from fairlead.testing.world import World

_MAY_HAVE_IT = ("taken", "")
"""What an agent's side of a text says where the agent has it, or may have it because the power went."""


def judge_steering(world: World, facts: list[JournalLine]) -> None:
    begun = {f.payload.job_id for f in facts if isinstance(f.payload, e.SteeringBegun)}
    steered = {f.payload.job_id: f.payload for f in facts if isinstance(f.payload, e.JobSteered)}
    given = Counter(text.job_id for text in world.agents.steered if text.outcome in _MAY_HAVE_IT)
    ran = {invoked.job_id for invoked in world.agents.invoked}
    for text in world.agents.steered:
        if text.job_id not in begun:
            world.accuse(f"{text.job_id} was given to a turn, and the journal does not know that it left its queue")
    for job_id in sorted(given):
        if job_id in ran:
            world.accuse(f"{job_id} was given to a turn, and ran as a job too")
        if given[job_id] > 1:
            world.accuse(f"{job_id} was given to a turn {given[job_id]} times")
    taken_into = {text.job_id: text.into for text in world.agents.steered if text.outcome in _MAY_HAVE_IT}
    for job_id, fact in steered.items():
        if taken_into.get(job_id) != fact.into:
            world.accuse(f"{job_id} is called taken by {fact.into}, and went to {taken_into.get(job_id)}")
    world.happened["texts taken into turns"] += len(steered)
    declined = Counter(f.payload.reason for f in facts if isinstance(f.payload, e.SteeringDeclined))
    for reason, count in declined.items():
        world.happened[f"texts not taken: {reason}"] += count
    unknown = {f.payload.job_id for f in facts if isinstance(f.payload, e.JobMarkedUnknownAfterCrash)}
    world.happened["texts that a crash made unknown"] += len(unknown & begun)
