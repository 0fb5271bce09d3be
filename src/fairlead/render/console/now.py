"""The page *Now*: does anything need me? Questions first, then what failed, what runs, what waits, what was not
delivered, and what is wrong with Fairlead itself."""

from typing import Final, Literal

from fairlead.core.console_views import Board, BoardDelivery, BoardJob
from fairlead.core.job_names import short_name
from fairlead.core.views import JobView
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import (
    button,
    elapsed_time,
    hidden_field,
    isolate,
    job_link,
    job_path,
    moment,
    nothing,
    post_form,
    section,
    session_path,
    state_badge,
    why_path,
)
from fairlead.render.console.questions import question_card
from fairlead.render.words import error_next_step, error_what, join_sentences, say

Health = Literal["ok", "disk_full", "journal_damaged"]

_TROUBLE: Final = {
    "disk_full": ("page.disk_full", "page.disk_full.more"),
    "journal_damaged": ("page.journal_damaged", "console.now.damaged"),
}
_KINDS: Final = {
    "answer": "console.delivery.answer",
    "question": "console.delivery.question",
    "sent": "console.delivery.sent",
}


def now_page(board: Board, health: Health, lang: str, now: str, *, is_owner: bool) -> Html:
    parts = [
        _trouble(health, lang),
        _questions(board, lang, now, is_owner=is_owner),
        _list_failed(board, lang, now) if board.failed else None,
        _list_running(board, lang, now),
        _list_queued(board, lang, now) if board.queued else None,
        _list_undelivered(board, lang, now) if board.undelivered else None,
        el("p", el("a", say(lang, "console.sessions.own"), href=session_path("me"), class_="button main")),
    ]
    return el("div", el("h1", say(lang, "console.nav.now")), _summary(board, health, lang), parts, id="page")


def _summary(board: Board, health: Health, lang: str) -> Html:
    """One sentence that answers the question of the page."""
    if board.questions:
        words, kind = say(lang, "console.questions_open", count=len(board.questions)), "needs"
    elif health != "ok" or board.failed:
        words, kind = say(lang, "console.now.look"), "needs"
    else:
        words, kind = say(lang, "console.now.calm"), "calm"
    return el("p", words, class_=f"summary {kind}", id="summary")


def _trouble(health: Health, lang: str) -> Content:
    if health == "ok":
        return None
    what, more = _TROUBLE[health]
    return section(
        say(lang, "console.now.wrong"),
        el("div", el("strong", say(lang, what)), el("p", say(lang, more)), class_="card trouble"),
        id_="wrong",
        kind="needs",
    )


def _questions(board: Board, lang: str, now: str, *, is_owner: bool) -> Html:
    cards = [question_card(asked, lang, now, is_owner=is_owner) for asked in board.questions]
    empty = nothing(say(lang, "console.now.no_questions"))
    listed = el("div", cards or empty, id="questions-list", class_="cards")
    return section(
        say(lang, "console.now.questions"),
        listed,
        id_="questions",
        count=len(cards),
        kind="needs" if cards else "",
    )


def _list_running(board: Board, lang: str, now: str) -> Html:
    rows = [_running_row(row, lang, now) for row in board.running]
    return section(
        say(lang, "console.now.running"),
        el("ul", rows, class_="rows") if rows else nothing(say(lang, "console.now.nothing_runs")),
        id_="running",
        count=len(rows),
    )


def _running_row(row: BoardJob, lang: str, now: str) -> Html:
    since = elapsed_time(row.job.started_at or row.job.enqueued_at, now)
    return _job_row(row, lang, (state_badge(row.job.state, lang), " ", since), _cancel_form(row, lang))


def _cancel_form(row: BoardJob, lang: str) -> Html:
    words = say(lang, "console.do.cancel")
    label = f"{words}: {short_name(row.job.job_id)}"
    return post_form(
        job_path(row.job.job_id, "cancel"), hidden_field("back", "/"), button(words, kind="small", label=label)
    )


def _list_queued(board: Board, lang: str, now: str) -> Html:
    rows = [
        _job_row(
            row,
            lang,
            (say(lang, "status.queued", position=row.position + 1), " · ", moment(row.job.enqueued_at, now, lang)),
            _cancel_form(row, lang),
        )
        for row in board.queued
    ]
    return section(
        say(lang, "console.now.queued"), el("ul", rows, class_="rows"), id_="queued", count=board.queued_total
    )


def _list_failed(board: Board, lang: str, now: str) -> Html:
    """What failed last in its session, with what to do about it."""
    rows = [_failed_row(row, lang, now) for row in board.failed]
    return section(
        say(lang, "console.now.failed"), el("ul", rows, class_="rows"), id_="failed", count=len(rows), kind="needs"
    )


def _failed_row(row: BoardJob, lang: str, now: str) -> Html:
    code = row.job.error_code or ("E_UNKNOWN_AFTER_CRASH" if row.job.state == "unknown_after_crash" else "")
    why = el("p", el("code", code), " ", _sentences(row, code, lang)) if code else None
    retry = post_form(
        job_path(row.job.job_id, "retry"),
        hidden_field("back", "/"),
        button(
            say(lang, "console.do.retry"),
            kind="small",
            label=f"{say(lang, 'console.do.retry')}: {short_name(row.job.job_id)}",
        ),
    )
    return _job_row(
        row, lang, (state_badge(row.job.state, lang), " ", moment(row.job.finished_at or "", now, lang)), retry, why
    )


def _sentences(row: BoardJob, code: str, lang: str) -> str:
    job = short_name(row.job.job_id)
    return join_sentences(error_what(lang, code, job=job), error_next_step(lang, code, job=job))


def _to_changes(job: JobView, lang: str) -> Content:
    """What the turn did to files, also while it runs."""
    if job.changed is None and not (job.is_live and job.has_snapshot):
        return None
    return " · ", el("a", say(lang, "card.changes"), href=job_path(job.job_id, "changes"))


def machine_notice(job: JobView, lang: str) -> Content:
    """That the machine of a job which runs or waits is away, and since when."""
    if not job.machine_away_since:
        return None
    key = "chat.machine_away" if job.state == "queued" else "chat.machine_lost"
    since = f"{job.machine_away_since[:16].replace('T', ' ')} UTC"
    return el("p", say(lang, key, machine=job.machine, since=since), class_="warning")


def _job_row(row: BoardJob, lang: str, facts: Content, action: Content = None, more: Content = None) -> Html:
    job = row.job
    return el(
        "li",
        el(
            "div",
            el("a", isolate(row.title, 80), href=session_path(row.session_id), class_="title"),
            el("span", job_link(job.job_id), " ", facts, class_="facts"),
            el("p", isolate(row.prompt, 160), class_="prompt") if row.prompt else None,
            el("p", " · ".join(filter(None, (job.project, job.runtime))), _to_changes(job, lang), class_="about"),
            machine_notice(job, lang),
            more,
            class_="text",
        ),
        action,
        id=f"row-{job.job_id}",
        class_="row-item",
    )


def _list_undelivered(board: Board, lang: str, now: str) -> Html:
    return section(
        say(lang, "console.now.undelivered"),
        el("ul", [_delivery_row(row, lang, now) for row in board.undelivered], class_="rows"),
        id_="undelivered",
        count=board.undelivered_total,
    )


def _delivery_row(row: BoardDelivery, lang: str, now: str) -> Html:
    if row.awaits_fetching:
        state = say(lang, "console.delivery.fetched_by", channel=row.where.channel)
    else:
        state = say(lang, "console.delivery.tried", count=row.attempts, channel=row.where.channel, error=row.last_error)
    subject = row.job_id or row.entry_id
    return el(
        "li",
        el(
            "div",
            el("a", isolate(row.title, 80), href=session_path(row.session_id), class_="title"),
            el("span", say(lang, _KINDS.get(row.kind, "console.delivery.other")), class_="facts"),
            el("p", state, " ", moment(row.owed_at, now, lang), class_="about"),
            class_="text",
        ),
        el("a", say(lang, "console.nav.why"), href=why_path(subject), class_="button small"),
        id=f"owed-{row.entry_id}",
        class_="row-item",
    )
