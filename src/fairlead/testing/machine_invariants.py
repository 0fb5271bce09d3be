"""What must be true of a world with several machines, beside what is true of any."""

from collections import defaultdict

from fairlead.core import events as e
from fairlead.core.machines.places import machine_of
from fairlead.store import lines
from fairlead.testing.runtime import RUNNER_LIVES
from fairlead.testing.world import JOURNAL, World


def judge_machines(world: World, ended_lives: set[int], handed_over: set[str]) -> None:
    """`ended_lives` are those of the runners that were killed or superseded, `handed_over` the jobs of which a runner
    noted that their agents get the prompt."""
    durable = world.disk.durable_bytes(JOURNAL)
    facts = [lines.line_decoder().decode(raw).payload for raw in durable[: durable.rfind(b"\n") + 1].splitlines()]
    _turns_run_where_their_project_is(world, facts)
    _unknown_only_if_handed_over(world, facts, handed_over)
    _unknown_only_if_the_runner_ended(world, facts, ended_lives)
    _nothing_is_counted_twice(world, facts)


def _turns_run_where_their_project_is(world: World, facts: list[e.JournalEvent]) -> None:
    places = {str(f.job_id): machine_of(f.project_path) for f in facts if isinstance(f, e.JobStarted)}
    for invoked in world.agents.invoked:
        is_runner = invoked.life > RUNNER_LIVES
        if is_runner != bool(places.get(invoked.job_id, "")):
            world.accuse(f"{invoked.job_id} of {places.get(invoked.job_id)!r} ran on the wrong machine")
    world.happened["turns on other machines"] += sum(1 for i in world.agents.invoked if i.life > RUNNER_LIVES)


def _unknown_only_if_handed_over(world: World, facts: list[e.JournalEvent], handed_over: set[str]) -> None:
    """A turn that was not handed over runs again by itself: nobody has to ask for it. A runner that is killed between
    its note of the hand-over and the first byte of the prompt cannot know whether that byte left. A turn that an agent
    began by itself needs no hand-over. Of a journal that is lost, nobody knows what it said."""
    places = {str(f.job_id): machine_of(f.project_path) for f in facts if isinstance(f, e.JobStarted)}
    own = {str(f.job_id) for f in facts if isinstance(f, e.JobEnqueued) and f.cause == "agent"}
    began = {invoked.job_id for invoked in world.agents.invoked} | handed_over | own
    for fact in facts:
        if isinstance(fact, e.JobMarkedUnknownAfterCrash):
            machine = places.get(str(fact.job_id), "")
            if machine and fact.job_id not in began and machine not in world.lost_journals:
                world.accuse(f"{fact.job_id} is called unknown, and no runner handed it over")


def _unknown_only_if_the_runner_ended(world: World, facts: list[e.JournalEvent], ended_lives: set[int]) -> None:
    """Whatever happens to the daemon or the wire, a turn on another machine goes on, and its answer comes."""
    unknown = {str(fact.job_id) for fact in facts if isinstance(fact, e.JobMarkedUnknownAfterCrash)}
    for invoked in world.agents.invoked:
        if invoked.life > RUNNER_LIVES and invoked.job_id in unknown and invoked.life not in ended_lives:
            world.accuse(f"{invoked.job_id} is called unknown, and the runner that ran it never ended")


def _nothing_is_counted_twice(world: World, facts: list[e.JournalEvent]) -> None:
    """`/usage 10 5 0.01` makes the agent report so many tokens, once for each time that it is said."""
    prompts = {f.job_id: f.prompt for f in facts if isinstance(f, e.JobEnqueued)}
    attempts: defaultdict[str, int] = defaultdict(int)
    for invoked in world.agents.invoked:
        attempts[invoked.job_id] += 1
    for fact in facts:
        if isinstance(fact, e.JobCompleted):
            said = prompts.get(fact.job_id, "").count("/usage 10 5")
            if fact.spent.input_tokens not in {10 * said, 10 * said * attempts[fact.job_id]}:
                world.accuse(
                    f"{fact.job_id} said /usage {said} times, and {fact.spent.input_tokens} tokens are counted"
                )
