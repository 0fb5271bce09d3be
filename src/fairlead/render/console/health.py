"""The page *Health*: what is wrong and what to type, the numbers of now, and charts of the time since the start."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final, Literal

import msgspec

from fairlead.core.agent_views import AgentView
from fairlead.core.console_views import BoardDelivery
from fairlead.core.health_views import HealthSample
from fairlead.core.views import Counts, Latency, LatencyView
from fairlead.render.console.agents import spell_bytes
from fairlead.render.console.charts import Chart, Series, line_chart
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import isolate, moment, section
from fairlead.render.words import say

MOST_POINTS: Final = 60
SLOW_SYNC_SEC: Final = 0.5
LONG_WAIT_SEC: Final = 5.0
LATE_SEC: Final = 1.0
_RECENT: Final = 40
"""Samples that a warning looks at: the last ten minutes."""
_LATENCIES: Final[dict[Latency, str]] = {
    "started": "pages.health.started",
    "answered": "pages.health.answered",
    "delivered": "pages.health.delivered",
}


class HealthModel(msgspec.Struct, frozen=True, kw_only=True):
    health: Literal["ok", "disk_full", "journal_damaged"]
    damage: str = ""
    checked_bytes: int = 0
    behind: int = 0
    counts: Counts
    samples: tuple[HealthSample, ...] = ()
    began_at: str = ""
    latencies: tuple[LatencyView, ...] = ()
    undelivered: tuple[BoardDelivery, ...] = ()
    broken_agents: tuple[AgentView, ...] = ()
    logged_out: tuple[str, ...] = ()
    spent_projects: tuple[str, ...] = ()
    memory_bytes: int | None = None
    open_files: int | None = None
    max_files: int | None = None
    version: str = ""


class HealthProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong, and what a person can do about it: a command to type, or a page to look at."""

    what: str
    next_step: str = ""
    command: str = ""
    path: str = ""


def health_page(model: HealthModel, lang: str, now: str) -> Html:
    return el(
        "div",
        el("h1", say(lang, "pages.nav.health")),
        _findings(find_problems(model, lang), lang),
        _numbers(model, lang),
        _journal(model, lang),
        _charts(model, lang, now),
        _latencies(model.latencies, lang),
        id="page",
    )


# --- what is wrong


def find_problems(model: HealthModel, lang: str) -> list[HealthProblem]:
    recent = model.samples[-_RECENT:]
    return [*_store_problems(model, recent, lang), *_outside_problems(model, recent, lang)]


def _store_problems(model: HealthModel, recent: Sequence[HealthSample], lang: str) -> list[HealthProblem]:
    found: list[HealthProblem] = []
    if model.health == "disk_full":
        words = say(lang, "page.disk_full")
        found.append(HealthProblem(what=words, next_step=say(lang, "page.disk_full.more"), command="df -h"))
    if model.damage:
        step = say(lang, "pages.health.damage.next")
        found.append(HealthProblem(what=model.damage, next_step=step, command="fairlead journal verify"))
    slowest = _longest(recent, lambda sample: sample.sync_sec)
    if slowest > SLOW_SYNC_SEC:
        words = say(lang, "pages.health.slow_sync", time=spell_time(slowest))
        found.append(
            HealthProblem(what=words, next_step=say(lang, "pages.health.slow_sync.next"), command="iostat -x 5")
        )
    latest = _longest(recent, lambda sample: sample.late_sec)
    if latest > LATE_SEC:
        words = say(lang, "pages.health.late", time=spell_time(latest))
        found.append(HealthProblem(what=words, next_step=say(lang, "pages.health.late.next"), command="uptime"))
    if model.open_files and model.max_files and model.open_files > 0.8 * model.max_files:
        words = say(lang, "pages.health.files", count=model.open_files, most=model.max_files)
        found.append(
            HealthProblem(what=words, next_step=say(lang, "pages.health.files.next"), command="ulimit -n 65536")
        )
    return found


def _outside_problems(model: HealthModel, recent: Sequence[HealthSample], lang: str) -> list[HealthProblem]:
    found: list[HealthProblem] = []
    if model.undelivered:
        first = model.undelivered[0]
        words = say(
            lang,
            "pages.health.undelivered",
            count=len(model.undelivered),
            channel=first.where.channel,
            error=first.last_error,
        )
        found.append(HealthProblem(what=words, next_step=say(lang, "pages.health.undelivered.next"), path="/"))
    waited = _longest(recent, lambda sample: sample.rate_limit_sec)
    if waited > LONG_WAIT_SEC:
        words = say(lang, "pages.health.rate_limit", time=spell_time(waited))
        found.append(HealthProblem(what=words, next_step=say(lang, "pages.health.rate_limit.next")))
    for agent in model.broken_agents:
        notes = " ".join(agent.check.notes) if agent.check is not None else ""
        words = say(lang, "pages.health.agent", name=agent.name, notes=notes)
        found.append(HealthProblem(what=words, command="fairlead doctor", path="/console/agents"))
    found += [
        HealthProblem(what=say(lang, "pages.health.login", name=name), command=name, path="/console/agents")
        for name in model.logged_out
    ]
    for project in model.spent_projects:
        words = say(lang, "pages.health.budget", name=project)
        found.append(HealthProblem(what=words, command=f"/budget set {project} …", path="/console/spend"))
    return found


def _longest(samples: Sequence[HealthSample], read: Callable[[HealthSample], float | None]) -> float:
    return max((read(sample) or 0.0 for sample in samples), default=0.0)


def _findings(found: list[HealthProblem], lang: str) -> Html:
    if not found:
        return el("p", say(lang, "pages.health.ok"), class_="summary calm", id="findings")
    cards = [
        el(
            "div",
            el("strong", isolate(one.what, 400)),
            el("p", one.next_step) if one.next_step else None,
            el("pre", el("code", one.command), tabindex="0") if one.command else None,
            el("a", say(lang, "pages.health.look"), href=one.path, class_="button small") if one.path else None,
            class_="card trouble",
        )
        for one in found
    ]
    return el(
        "div",
        section(say(lang, "console.now.wrong"), el("div", cards, class_="cards"), id_="wrong", count=len(found)),
        id="findings",
    )


# --- the numbers of now


def _numbers(model: HealthModel, lang: str) -> Html:
    live = model.counts.live_jobs
    tiles = [
        (say(lang, "pages.health.queued"), str(live.get("queued", 0))),
        (say(lang, "pages.health.running"), str(live.get("running", 0) + live.get("waiting", 0))),
        (say(lang, "pages.health.owed"), str(model.counts.outbox_entries)),
        (say(lang, "pages.health.questions"), str(model.counts.open_questions)),
        (say(lang, "pages.health.memory"), spell_bytes(model.memory_bytes)),
        (say(lang, "pages.health.version"), model.version),
    ]
    cards = [el("li", el("span", label, class_="label"), el("strong", value)) for label, value in tiles]
    return el("ul", cards, class_="tiles", id="numbers")


def _journal(model: HealthModel, lang: str) -> Html:
    check = (
        say(lang, "pages.health.journal.damaged")
        if model.damage
        else say(lang, "pages.health.journal.checked", size=f"{model.checked_bytes / 1e6:,.1f} MB")
    )
    behind = say(lang, "pages.health.journal.behind", count=model.behind) if model.behind else ""
    events = say(lang, "pages.health.journal.events", count=f"{model.counts.seq:,}")
    return section(
        say(lang, "pages.health.journal"),
        el("p", events, " ", behind, " ", check),
        id_="journal",
    )


# --- the time since the start


def _charts(model: HealthModel, lang: str, now: str) -> Html:
    points = _gather(model.samples)
    labels = tuple(group[-1].at[11:16] for group in points)
    head = say(lang, "pages.health.time")

    def draw(id_: str, title: str, spell: Callable[[float], str], *series: tuple[str, _Read]) -> Html:
        drawn = tuple(Series(name, tuple(_worst(group, read) for group in points)) for name, read in series)
        return line_chart(Chart(id=id_, title=title, labels=labels, series=drawn, spell=spell, label_head=head), lang)

    figures = [
        draw(
            "chart-jobs",
            say(lang, "pages.health.chart.jobs"),
            spell_count,
            (say(lang, "pages.health.queued"), lambda sample: float(sample.queued)),
            (say(lang, "pages.health.running"), lambda sample: float(sample.running)),
            (say(lang, "pages.health.owed"), lambda sample: float(sample.owed)),
        ),
        draw("chart-sync", say(lang, "pages.health.chart.sync"), spell_time, ("", lambda sample: sample.sync_sec)),
        draw(
            "chart-waits",
            say(lang, "pages.health.chart.waits"),
            spell_time,
            (say(lang, "pages.health.chart.rate_limit"), lambda sample: sample.rate_limit_sec),
            (say(lang, "pages.health.chart.late"), lambda sample: sample.late_sec),
        ),
        draw("chart-memory", say(lang, "pages.health.chart.memory"), _spell_memory, ("", _memory_of)),
    ]
    since = (say(lang, "pages.health.since"), " ", moment(model.began_at, now, lang)) if model.began_at else None
    return section(
        say(lang, "pages.health.lately"),
        el("p", since, class_="hint"),
        el("div", figures, class_="figures-grid"),
        id_="lately",
    )


_Read = Callable[[HealthSample], "float | None"]


def _gather(samples: Sequence[HealthSample]) -> list[Sequence[HealthSample]]:
    """Neighbours become one point, so that a chart has at most so many; the worst of them is shown."""
    size = max(1, ceil(len(samples) / MOST_POINTS))
    return [samples[start : start + size] for start in range(0, len(samples), size)]


def _worst(group: Sequence[HealthSample], read: _Read) -> float | None:
    return max((value for sample in group if (value := read(sample)) is not None), default=None)


def _memory_of(sample: HealthSample) -> float | None:
    return None if sample.memory_bytes is None else float(sample.memory_bytes)


def _spell_memory(size: float) -> str:
    return spell_bytes(int(size))


def spell_count(value: float) -> str:
    return f"{value:g}"


def spell_time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


# --- how long things take


def _latencies(views: tuple[LatencyView, ...], lang: str) -> Content:
    rows = [
        el(
            "tr",
            el("th", say(lang, _LATENCIES[view.what]), el("small", view.label) if view.label else None, scope="row"),
            el("td", f"{view.counts[-1]:,}", class_="number"),
            el("td", _spell_bound(view, 0.5), class_="number"),
            el("td", _spell_bound(view, 0.99), class_="number"),
        )
        for view in views
        if view.counts[-1]
    ]
    if not rows:
        return None
    heads = [say(lang, "pages.health.what"), say(lang, "pages.health.count"), "50 %", "99 %"]
    head = [el("th", words, scope="col", class_="number" if place else None) for place, words in enumerate(heads)]
    table = el("table", el("thead", el("tr", head)), el("tbody", rows), class_="figures")
    title = say(lang, "pages.health.latencies")
    return section(title, el("div", table, class_="wide", tabindex="0", role="region", aria_label=title), id_="times")


def _spell_bound(view: LatencyView, share: float) -> str:
    """The time within which this share was done, as exactly as the histogram knows it."""
    wanted = share * view.counts[-1]
    for bound, count in zip(view.bounds_sec, view.counts, strict=False):
        if count >= wanted:
            return f"≤ {spell_time(bound)}"
    return f"> {spell_time(view.bounds_sec[-1])}"
