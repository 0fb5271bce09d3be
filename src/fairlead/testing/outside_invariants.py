"""Judged at the end, from the journal alone: an event is one job, and no job begins while its budget is spent."""

from collections import defaultdict

from fairlead.core import events as e
from fairlead.store import lines
from fairlead.testing.world import World


def judge_outside(world: World, facts: list[lines.JournalLine]) -> None:
    _every_event_is_one_job(world, facts)
    _no_budget_is_passed(world, facts)


def _every_event_is_one_job(world: World, facts: list[lines.JournalLine]) -> None:
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact.payload, e.JobEnqueued) and fact.payload.cause == "hook":
            jobs[fact.payload.message_id.partition("~")[0]].append(fact.payload.job_id)
            if not fact.payload.foreign:
                world.accuse(f"{fact.payload.job_id} came from outside, and is not marked as foreign")
    for message_id, made in jobs.items():
        if len(made) != 1:
            world.accuse(f"{message_id} is {len(made)} jobs: {', '.join(made)}")
    known = {job_id for made in jobs.values() for job_id in made}
    for number, job_id in world.events_taken.items():
        if job_id not in known:
            world.accuse(f"event {number} was promised as {job_id}, which the journal does not have")


class _Books:
    """What was spent, kept by this judge alone."""

    def __init__(self) -> None:
        self.limits: dict[str, e.BudgetSet] = {}
        self.going_on: dict[str, str] = {}
        self.spent: defaultdict[tuple[str, str], tuple[float, int]] = defaultdict(lambda: (0.0, 0))

    def is_spent(self, project: str, day: str) -> bool:
        limit = self.limits.get(project)
        if limit is None or self.going_on.get(project) == day:
            return False
        usd, tokens = self.spent[project, day]
        over = limit.usd is not None and usd >= limit.usd
        return over or (limit.tokens is not None and tokens >= limit.tokens)

    def add(self, project: str, day: str, spent: e.Spent) -> None:
        usd, tokens = self.spent[project, day]
        self.spent[project, day] = (usd + spent.cost_usd, tokens + spent.input_tokens + spent.output_tokens)


def _no_budget_is_passed(world: World, facts: list[lines.JournalLine]) -> None:
    """Days are those of the journal's times: the owner of the simulated world lives where UTC is."""
    books = _Books()
    by_agent = {f.payload.job_id for f in facts if isinstance(f.payload, e.JobEnqueued) and f.payload.cause == "agent"}
    project_of: dict[str, str] = {}
    asked: dict[str, str] = {}
    for fact in facts:
        day = fact.ts[:10]
        match fact.payload:
            case e.BudgetSet() as limit:
                books.limits[limit.project] = limit
                books.going_on.pop(limit.project, None)
                asked.pop(limit.project, None)
            case e.BudgetDecided() as decided:
                if decided.choice == "go_on":
                    books.going_on[decided.project] = decided.day
                elif decided.choice == "cancel":
                    asked.pop(decided.project, None)
            case e.QuestionAsked() as question if question.budget_day:
                if asked.get(question.project) == day:
                    world.accuse(f"the budget of {question.project} was asked about twice on {day}")
                asked[question.project] = day
            case e.JobStarted() as started:
                project_of[started.job_id] = started.project
                if started.job_id not in by_agent and books.is_spent(started.project, day):
                    world.accuse(f"{started.job_id} began while the budget of {started.project} was spent")
            case e.JobCompleted() | e.JobFailed() | e.JobCancelled() as ended if ended.job_id in project_of:
                books.add(project_of[ended.job_id], day, ended.spent)
            case _:
                pass
