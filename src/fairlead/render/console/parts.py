"""The small parts that pages share: headings, states, times, forms, addresses. Knows no page."""

from typing import Final
from urllib.parse import quote

from fairlead.core import timestamps
from fairlead.core.job_names import short_name
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.durations import duration
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

_STATE_WORDS: Final = {
    "queued": "console.state.queued",
    "running": "console.state.running",
    "waiting": "console.state.waiting",
    "success": "console.state.success",
    "failed": "console.state.failed",
    "cancelled": "console.state.cancelled",
    "withdrawn": "console.state.withdrawn",
    "unknown_after_crash": "console.state.unknown_after_crash",
    "idle": "console.state.idle",
    "steering": "status.steering",
    "steered": "status.steered",
}


def session_path(session_id: str) -> str:
    return f"/console/session/{quote(session_id, safe='')}"


def why_path(subject: str) -> str:
    return f"/console/why/{quote(subject, safe='')}"


def job_path(job_id: str, part: str) -> str:
    return f"/console/job/{quote(job_id, safe='')}/{part}"


def turn_anchor(job_id: str) -> str:
    """The turn of a job on the page of its session, also where the page begins with later ones."""
    return f"?around={quote(job_id, safe='')}#turn-{quote(job_id, safe='')}"


def job_link(job_id: str) -> Html:
    return el("a", short_name(job_id), href=why_path(job_id), class_="job")


def state_badge(state: str, lang: str) -> Html:
    """The state in words, and in a colour that says nothing more."""
    known = _STATE_WORDS.get(state)
    return el("span", say(lang, known) if known else state, class_=f"badge state-{state if known else 'other'}")


def moment(ts: str, now: str, lang: str) -> Html:
    """How long ago; the script shows the reader's own time beside it, and counts on."""
    if not ts:
        return el("span", "-")
    ago = max(0.0, timestamps.seconds_between(ts, now))
    words = say(lang, "reply.ago", duration=duration(ago)) if ago < 86400 else ts[:10]
    return el("time", words, datetime=ts, title=f"{ts[:10]} {ts[11:19]} UTC")


def clock_time(ts: str) -> Html:
    """A moment that may lie ahead; the script shows it in the reader's own zone."""
    return el("time", f"{ts[:10]} {ts[11:16]} UTC", datetime=ts, data_whole="")


def elapsed_time(since: str, now: str) -> Html:
    """How long something has run; the script counts on."""
    seconds = max(0.0, timestamps.seconds_between(since, now)) if since else 0.0
    return el("span", duration(seconds), class_="elapsed", data_since=since)


def section(heading: str, *content: Content, id_: str, count: int | None = None, kind: str = "") -> Html:
    """A part of a page with its heading, and how many things are in it."""
    counted = None if count is None else el("span", str(count), class_="count")
    return el(
        "section",
        el("h2", heading, " ", counted, id=f"{id_}-heading"),
        *content,
        id=id_,
        class_=f"part {kind}".strip(),
        aria_labelledby=f"{id_}-heading",
    )


def nothing(words: str) -> Html:
    return el("p", words, class_="nothing")


def isolate(text: str, limit: int = 0) -> Html:
    """Words of somebody else inside a sentence: their direction does not reach beyond them."""
    return el("bdi", one_line(text, limit) if limit else text)


def post_form(
    action: str,
    *content: Content,
    class_: str = "",
    label: str | None = None,
    id_: str | None = None,
    files: bool = False,
) -> Html:
    return el(
        "form",
        *content,
        method="post",
        action=action,
        class_=class_ or None,
        aria_label=label,
        id=id_,
        enctype="multipart/form-data" if files else None,
    )


def go_form(action: str, *content: Content, label: str | None = None) -> Html:
    """A form of a page that does not change by itself: the script opens the next page when it was accepted."""
    return el("form", *content, method="post", action=action, aria_label=label, class_="goes-on")


def hidden_field(name: str, value: str) -> Html:
    return el("input", type="hidden", name=name, value=value)


def button(
    words: str, *, kind: str = "", name: str | None = None, value: str | None = None, label: str | None = None
) -> Html:
    """`label` is for those who hear it without what stands around it."""
    return el("button", words, type="submit", class_=f"button {kind}".strip(), name=name, value=value, aria_label=label)
