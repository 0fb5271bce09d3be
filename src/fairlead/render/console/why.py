"""The page *Why*: the account of all messages, the messages behind each number, and the story of one of them."""

from typing import Final, get_args

from fairlead.core import timestamps
from fairlead.core.console_views import MessageLine, MessagePage, OutcomeName
from fairlead.core.job_names import short_name
from fairlead.core.replies import Step, Story
from fairlead.core.views import Counts
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import isolate, moment, nothing, session_path, state_badge, why_path
from fairlead.render.story import StorySentence, say_step
from fairlead.render.words import error_what, say

PATH: Final = "/console/why"
OUTCOMES: Final[tuple[OutcomeName, ...]] = get_args(OutcomeName)
_SETTLED: Final = ("answered", "failed", "cancelled", "unknown", "withdrawn", "steered", "refused", "skipped")
_LIVE: Final = ("queued", "running", "waiting", "steering")
_WORDS: Final = {
    "answered": "console.why.answered",
    "failed": "console.why.failed",
    "cancelled": "console.why.cancelled",
    "unknown": "console.why.unknown",
    "withdrawn": "console.why.withdrawn",
    "steered": "console.why.steered",
    "refused": "console.why.refused",
    "skipped": "console.why.skipped",
    "queued": "console.why.queued",
    "running": "console.why.running",
    "waiting": "console.why.waiting",
    "steering": "console.why.steering",
}


def why_page(counts: Counts | None, shown: MessagePage | None, lang: str, now: str) -> Html:
    """`counts` are the owner's alone: they tell of everybody."""
    return el(
        "div",
        el("h1", say(lang, "console.nav.why")),
        el("p", say(lang, "console.why.what"), class_="lead"),
        _search(lang),
        _account(counts, lang) if counts is not None else _links(lang),
        _messages(shown, lang, now) if shown is not None else None,
        id="page",
    )


def _search(lang: str) -> Html:
    return el(
        "form",
        el("label", say(lang, "console.why.find"), for_="subject"),
        el(
            "div",
            el("input", type="search", name="subject", id="subject", autocomplete="off", maxlength=200),
            el("button", say(lang, "console.do.find"), type="submit", class_="button"),
            class_="row one-line",
        ),
        method="get",
        action=PATH,
        role="search",
        class_="search",
    )


def _account(counts: Counts, lang: str) -> Html:
    """received = answered + … : the two sides are the same at any time."""
    numbers = {**counts.settled, **counts.live_jobs}
    total = sum(numbers.get(name, 0) for name in (*_SETTLED, *_LIVE))
    fits = total == counts.received
    rows = [_account_row(name, numbers.get(name, 0), lang) for name in (*_SETTLED, *_LIVE)]
    sum_row = el(
        "tr",
        el("th", say(lang, "console.why.received"), scope="row"),
        el("td", str(counts.received), class_="number"),
        class_="total",
    )
    verdict = say(lang, "console.why.fits") if fits else say(lang, "console.why.differs", total=total)
    return el(
        "section",
        el("h2", say(lang, "console.why.account"), id="account-heading"),
        el(
            "table",
            el("thead", el("tr", el("th", say(lang, "console.why.outcome"), scope="col"), _number_head(lang))),
            el("tbody", rows, sum_row),
            class_="account",
        ),
        el("p", verdict, class_="hint" if fits else "warning"),
        id="account",
        class_="part",
        aria_labelledby="account-heading",
    )


def _number_head(lang: str) -> Html:
    return el("th", say(lang, "console.why.count"), scope="col", class_="number")


def _account_row(name: str, number: int, lang: str) -> Html:
    """The word leads to the list for everybody, and the number, which is what people press, for those who point."""
    path = f"{PATH}?outcome={name}#list"
    counted = el("a", str(number), href=path, tabindex="-1", aria_hidden="true")
    spoken = el("span", str(number), class_="spoken")
    return el(
        "tr",
        el("th", el("a", say(lang, _WORDS[name]), href=path), scope="row"),
        el("td", counted, spoken, class_="number"),
    )


def _links(lang: str) -> Html:
    items = [el("li", el("a", say(lang, _WORDS[name]), href=f"{PATH}?outcome={name}#list")) for name in OUTCOMES]
    return el("ul", items, class_="links")


def _messages(shown: MessagePage, lang: str, now: str) -> Html:
    rows = [_message_row(line, lang, now) for line in shown.lines]
    older = shown.counted - len(rows)
    counted = el("span", str(shown.counted), class_="count")
    return el(
        "section",
        el("h2", say(lang, _WORDS[shown.outcome]), " ", counted, id="list-heading"),
        el("ul", rows, class_="rows") if rows else nothing(say(lang, "console.why.none")),
        el("p", say(lang, "console.why.older", count=older), class_="hint") if older > 0 else None,
        id="list",
        class_="part",
        aria_labelledby="list-heading",
    )


def _message_row(line: MessageLine, lang: str, now: str) -> Html:
    subject = line.job_id or line.message_id
    known = line.detail.startswith("E_")
    detail = (el("code", line.detail), " ", error_what(lang, line.detail)) if known else line.detail
    return el(
        "li",
        el(
            "div",
            el("a", short_name(line.job_id) if line.job_id else isolate(line.message_id, 60), href=why_path(subject)),
            " ",
            el("a", isolate(line.title, 60), href=session_path(line.session_id)) if line.session_id else None,
            " ",
            moment(line.at, now, lang) if line.at else None,
            el("p", isolate(line.prompt, 160), class_="prompt") if line.prompt else None,
            el("p", detail, class_="about") if line.detail else None,
            class_="text",
        ),
        state_badge(line.state, lang) if line.state else None,
        class_="row-item",
    )


# --- the story of one message


def story_page(story: Story, session_id: str, lang: str, now: str) -> Html:
    steps = [_story_step(step, before, lang) for step, before in zip(story.steps, _times_before(story), strict=True)]
    title = say(lang, "reply.story", subject=short_name(story.subject))
    return el(
        "div",
        el("p", el("a", say(lang, "console.nav.why"), href=PATH), class_="about"),
        el("h1", isolate(title, 200)),
        el(
            "p",
            moment(story.steps[0].ts, now, lang) if story.steps else None,
            " ",
            el("a", say(lang, "console.why.session"), href=session_path(session_id)) if session_id else None,
            class_="about",
        ),
        el("ol", steps, class_="story"),
        id="page",
    )


def _times_before(story: Story) -> list[str]:
    return ["", *(step.ts for step in story.steps[:-1])]


def _story_step(step: Step, before: str, lang: str) -> Html:
    words = say_step(StorySentence(step.key, step.fields), lang, lambda _gap, text: text) or step.words or step.type
    return el(
        "li",
        el("time", f"{step.ts[11:23]}", datetime=step.ts, data_clock="", title=f"{step.ts} UTC"),
        el("span", _took(before, step.ts), class_="took"),
        el("span", isolate(words), class_="words"),
        el("small", f"{step.type} {step.seq}", class_="fact"),
    )


def _took(before: str, ts: str) -> Content:
    """The time since the step before."""
    if not before:
        return ""
    seconds = timestamps.seconds_between(before, ts)
    return f"+{seconds * 1000:.0f} ms" if abs(seconds) < 1 else f"+{seconds:.1f} s"
