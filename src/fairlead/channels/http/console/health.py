"""The page *Health*: how the daemon is, how it was lately, what is wrong and what to type."""

from fairlead import __version__
from fairlead.channels.http.console.now import find_health
from fairlead.channels.http.console.visit import PageContent, Visit
from fairlead.core.replies import BudgetReport
from fairlead.core.requests import BudgetShow
from fairlead.kit.process_usage import read_own_usage
from fairlead.render.console.health import HealthModel, health_page
from fairlead.render.words import say


async def build_health(visit: Visit) -> PageContent:
    service = visit.service
    budgets = await visit.command(BudgetShow(), BudgetReport)
    board = visit.view.board(visit.caller)
    usage = read_own_usage()
    model = HealthModel(
        health=find_health(service.vitals),
        damage=service.vitals.damage,
        checked_bytes=service.vitals.checked_bytes,
        behind=max(0, visit.view.seq - service.vitals.durable_seq),
        counts=visit.view.counts(),
        samples=() if service.samples is None else service.samples.all(),
        began_at="" if service.samples is None else service.samples.began_at,
        latencies=tuple(visit.view.latencies()),
        undelivered=tuple(row for row in board.undelivered if row.last_error),
        broken_agents=tuple(one for one in visit.view.agents().agents if one.check is not None and not one.check.ok),
        logged_out=tuple(
            one.name for one in visit.view.agents().agents if one.check is not None and one.check.needs_login
        ),
        spent_projects=tuple(row.project for row in budgets.rows if row.held),
        memory_bytes=usage.resident_bytes,
        open_files=usage.open_files,
        max_files=usage.max_files,
        version=__version__,
    )
    return PageContent(say(visit.lang, "pages.nav.health"), health_page(model, visit.lang, visit.now))
