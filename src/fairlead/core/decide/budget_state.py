"""Whether a budget is spent, and which jobs wait for it. Reads the state; decides nothing."""

from collections.abc import Iterator

from fairlead.core.budgets import DaySpending
from fairlead.core.ids import JobId
from fairlead.core.state import Session, State

_NOTHING = DaySpending()


def spending_on(state: State, project: str, day: str) -> DaySpending:
    return state.spending.get(day, {}).get(project, _NOTHING)


def is_spent(state: State, project: str, today: str) -> bool:
    """Whether no job of this project may start today: a limit is reached, and nobody said to go on."""
    budget = state.budgets.get(project)
    if budget is None:
        return False
    decided = state.budget_days.get(project)
    if decided is not None and decided.day == today and decided.choice == "go_on":
        return False
    spent = spending_on(state, project, today)
    over_usd = budget.usd is not None and spent.usd >= budget.usd
    return over_usd or (budget.tokens is not None and spent.tokens >= budget.tokens)


def project_of_next(state: State, session: Session) -> str:
    """The project in which the session's next job would run."""
    job = state.jobs.get(session.queue[0])
    return (job.project if job is not None else "") or session.project


def find_held_jobs(state: State, today: str) -> Iterator[tuple[str, JobId]]:
    """The next job of each session that waits for a budget, with its project."""
    for key in state.ready:
        session = state.sessions[key]
        project = project_of_next(state, session)
        if is_spent(state, project, today):
            yield project, session.queue[0]


def find_queued_jobs(state: State, project: str) -> list[JobId]:
    """Every queued job that would run in this project."""
    return [
        job_id
        for key in state.ready
        for job_id in state.sessions[key].queue
        if (state.jobs[job_id].project or state.sessions[key].project) == project
    ]
