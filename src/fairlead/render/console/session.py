"""The page of a session: what was said, what the agent does now, and the form to say more."""

from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.console_views import BoardQuestion, SessionLine
from fairlead.core.engine import TodoItem
from fairlead.core.job_states import RETRYABLE
from fairlead.core.views import JobView
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import (
    button,
    hidden_field,
    isolate,
    job_link,
    job_path,
    moment,
    post_form,
    session_path,
    state_badge,
)
from fairlead.render.console.questions import diff_block, question_card
from fairlead.render.console.turns import LiveTurn, TextPart, ToolStep
from fairlead.render.durations import duration
from fairlead.render.job_end import short_number
from fairlead.render.safe_text import one_line, visible_lines
from fairlead.render.tools import tool_label
from fairlead.render.turn_card import files_line
from fairlead.render.words import error_next_step, error_what, join_sentences, say

_MOST_PROMPT: Final = 20_000
_SCROLLED_PROMPT: Final = 200
"""A prompt that may be taller than its box can be scrolled by keyboard too."""
_SHOWN_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TODO_SIGNS: Final = {"pending": "○", "in_progress": "◐", "completed": "●"}
_TODO_WORDS: Final = {
    "pending": "console.todo.pending",
    "in_progress": "console.todo.in_progress",
    "completed": "console.todo.completed",
}
_CAUSES: Final = {
    "retry": "console.cause.retry",
    "agent": "console.cause.agent",
    "answer": "console.cause.answer",
    "spawn": "console.cause.spawn",
    "child": "console.cause.child",
    "schedule": "console.cause.schedule",
    "hook": "console.cause.hook",
}


class ShownTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A job with its texts. `answer` is rendered; `is_cut` says that only the beginning of it is here."""

    job: JobView
    answer: Html | None = None
    is_cut: bool = False
    live: LiveTurn | None = None
    position: int = 0
    can_be_steered: bool = False
    questions: tuple[BoardQuestion, ...] = ()


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What can be chosen for the session, and what is chosen now."""

    tool: str = ""
    tools: tuple[str, ...] = ()
    model: str = ""
    models: tuple[str, ...] = ()
    mode: str = ""
    modes: tuple[str, ...] = ()


class SessionHead(msgspec.Struct, frozen=True, kw_only=True):
    """`name` stands in addresses. `has_begun` is false for a person's own session in which nothing was said."""

    name: str
    title: str
    project: str = ""
    tool: str = ""
    state: str = "idle"
    cost_usd: float = 0.0
    has_begun: bool = True
    takes_texts: bool = False
    parent_session_id: str = ""
    children: tuple[SessionLine, ...] = ()
    """Sessions that this one started, and that have something to do."""


def session_page(
    head: SessionHead,
    turns: tuple[ShownTurn, ...],
    choices: Choices,
    *,
    earlier: str,
    key: str,
    lang: str,
    now: str,
    is_owner: bool,
    is_past: bool = False,
) -> Html:
    """`earlier` leads to the turns before these, and `is_past` says that there are later ones; `key` is the
    id of the next message, so that it is sent once."""
    blocks = [turn_block(turn, lang, now, is_owner=is_owner) for turn in turns]
    return el(
        "div",
        session_head(head, lang),
        session_settings(head, choices, lang) if head.has_begun else None,
        el("p", el("a", say(lang, "console.session.earlier"), href=earlier), class_="earlier") if earlier else None,
        el("div", blocks, id="turns", data_follow=True),
        el("p", say(lang, "console.session.empty"), class_="nothing", id="turns-empty") if not turns else None,
        el("p", el("a", say(lang, "console.session.latest"), href=session_path(head.name)), class_="earlier")
        if is_past
        else None,
        composer(head, key, lang, is_elsewhere=is_past),
        id="page",
        class_="talk",
    )


def session_head(head: SessionHead, lang: str) -> Html:
    cost = f"${head.cost_usd:.2f}" if head.cost_usd >= 0.005 else ""
    stop = post_form(f"{session_path(head.name)}/stop", button(say(lang, "console.do.stop"), kind="small danger"))
    facts = " · ".join(filter(None, (head.project, head.tool, cost)))
    parent = el("a", say(lang, "console.session.parent"), href=session_path(head.parent_session_id))
    return el(
        "div",
        el("h1", isolate(head.title, 120)),
        el(
            "div",
            state_badge(head.state, lang),
            el("span", isolate(facts), class_="about-inline"),
            parent if head.parent_session_id else None,
            stop if head.state in {"running", "waiting", "queued"} else None,
            class_="row facts-row",
        ),
        _list_children(head, lang),
        id="session-head",
        class_="is-live" if head.state == "running" else "",
    )


def _list_children(head: SessionHead, lang: str) -> Content:
    if not head.children:
        return None
    rows = [
        el(
            "li",
            el("a", isolate(child.title, 80), href=session_path(child.session_id)),
            " ",
            state_badge(child.state, lang),
        )
        for child in head.children
    ]
    return el("p", say(lang, "console.session.children"), class_="about"), el("ul", rows, class_="attached")


def session_settings(head: SessionHead, choices: Choices, lang: str) -> Html:
    path = session_path(head.name)
    rows = (
        _choice(f"{path}/tool", say(lang, "console.session.agent"), choices.tool, choices.tools, lang),
        _choice(f"{path}/model", say(lang, "console.session.model"), choices.model, choices.models, lang),
        _choice(f"{path}/mode", say(lang, "console.session.mode"), choices.mode, choices.modes, lang),
        post_form(
            f"{path}/reset",
            el("p", say(lang, "console.session.reset_what"), class_="hint"),
            button(say(lang, "console.do.reset"), kind="small danger"),
        ),
    )
    return el("details", el("summary", say(lang, "console.session.settings")), rows, id="session-settings")


def _choice(action: str, label: str, chosen: str, offered: tuple[str, ...], lang: str) -> Content:
    if not offered:
        return None
    name = action.rpartition("/")[2]
    listed = offered if chosen in offered or not chosen else (chosen, *offered)
    options = [el("option", one, value=one, selected=one == chosen) for one in listed]
    return post_form(
        action,
        el("label", label, for_=f"choose-{name}"),
        el("select", options, name="choice", id=f"choose-{name}"),
        button(say(lang, "console.do.change"), kind="small"),
        class_="row",
    )


def composer(head: SessionHead, key: str, lang: str, *, words: str = "", is_elsewhere: bool = False) -> Html:
    """With `is_elsewhere` it stands on another page, below what is read there, and leads to the session."""
    is_quoting = " quoting" if words else ""
    return post_form(
        f"{session_path(head.name)}/send",
        hidden_field("key", key),
        el("label", say(lang, "console.session.message"), for_="message", class_="spoken"),
        el(
            "textarea",
            words,
            name="message",
            id="message",
            rows=2,
            placeholder=say(lang, "console.session.placeholder"),
            aria_describedby="composer-hint",
        ),
        el(
            "div",
            el("label", say(lang, "console.session.attach"), for_="files", class_="spoken"),
            el("input", type="file", name="files", id="files", multiple=True),
            send_buttons(head, lang),
            class_="row",
        ),
        el("p", say(lang, "console.session.keys"), class_="hint", id="composer-hint"),
        id_="composer",
        class_=f"composer elsewhere goes-on{is_quoting}" if is_elsewhere else "composer",
        label=say(lang, "console.session.message"),
        files=True,
    )


def send_buttons(head: SessionHead, lang: str) -> Html:
    """The buttons of the composer say what pressing them does now. While a turn runs whose agent takes texts, a text
    goes into it if it is pressed so."""
    is_busy = head.state in {"running", "waiting", "queued"}
    words = say(lang, "console.do.queue") if is_busy else say(lang, "console.do.send")
    return el(
        "span",
        button(words, kind="main"),
        button(say(lang, "console.do.steer"), name="steer", value="1") if head.takes_texts else None,
        class_="row",
        id="send",
    )


# --- one turn


def turn_block(turn: ShownTurn, lang: str, now: str, *, is_owner: bool) -> Html:
    job = turn.job
    return el(
        "article",
        _show_prompt(job, lang, now),
        live_block(turn.live, job, lang) if turn.live is not None else None,
        [question_card(asked, lang, now, is_owner=is_owner) for asked in turn.questions],
        _answer(turn, lang),
        _files(job, lang),
        _changed_files(job, lang),
        _foot(turn, lang, now),
        id=f"turn-{job.job_id}",
        class_=f"turn is-{job.state}",
        data_in="turns",
        aria_label=f"#{job.job_id.rpartition('_')[2].lstrip('0')}",
    )


def _show_prompt(job: JobView, lang: str, now: str) -> Html:
    cause = _CAUSES.get(job.cause)
    prompt = visible_lines(job.prompt[:_MOST_PROMPT])
    more = len(job.prompt) - _MOST_PROMPT
    cut = say(lang, "shortened.more_characters", count=more, file=job.job_id)
    names = [el("li", isolate(attached.name, 80)) for attached in job.attachments]
    return el(
        "div",
        el(
            "p",
            el("strong", isolate(job.person, 60)),
            " ",
            el("span", say(lang, cause)) if cause else None,
            " ",
            moment(job.enqueued_at, now, lang),
            class_="about",
        ),
        el("div", prompt, class_="said", dir="auto", tabindex="0" if len(prompt) > _SCROLLED_PROMPT else None),
        el("p", cut, class_="hint") if more > 0 else None,
        el("ul", names, class_="attached") if names else None,
        class_="asked",
    )


def live_block(turn: LiveTurn, job: JobView, lang: str) -> Html:
    """What the agent says and does. Once the turn is over, it is folded: the answer stands below it."""
    parts = [part_block(job.job_id, number, part, lang) for number, part in turn.numbered_parts()]
    inside = el("div", parts, id=f"live-{job.job_id}", class_="live")
    around = around_block(turn, lang)
    if job.is_live:
        return el("div", around, inside, id=f"work-{job.job_id}", class_="work")
    if not parts:
        return el("div", id=f"work-{job.job_id}")
    steps = sum(isinstance(part, ToolStep) for part in turn.parts)
    words = say(lang, "chat.one_step") if steps == 1 else say(lang, "chat.steps", count=steps)
    return el("details", el("summary", words), around, inside, id=f"work-{job.job_id}", class_="work")


def part_id(job_id: str, number: int) -> str:
    return f"part-{job_id}-{number}"


def part_block(job_id: str, number: int, part: TextPart | ToolStep, lang: str) -> Html:
    name, place = part_id(job_id, number), f"live-{job_id}"
    match part:
        case TextPart():
            return el("div", part.text, id=name, class_="said growing", dir="auto", data_n=part.length, data_in=place)
        case ToolStep():
            return _tool_line(part, name, place, lang)


def _tool_line(step: ToolStep, name: str, place: str, lang: str) -> Html:
    sign = "◐" if step.is_running else "✓" if step.ok else "✕"
    ended = say(lang, "console.tool.ok" if step.ok else "console.tool.failed")
    spoken = say(lang, "console.state.running") if step.is_running else ended
    line = (
        el("span", sign, aria_hidden="true", class_=f"sign {'' if step.ok else 'bad'}".strip()),
        el("span", f"{spoken}: ", class_="spoken"),
        isolate(tool_label(step.name, step.input, lang=lang), 160),
    )
    details = [
        diff_block(step.diff) if step.diff else None,
        el("pre", el("code", visible_lines(step.output)), tabindex="0") if step.output else None,
        el("pre", el("code", visible_lines(step.summary)), tabindex="0") if step.summary else None,
    ]
    below = "tool below" if step.parent_id else "tool"
    if not any(details):
        return el("p", line, id=name, class_=below, data_in=place)
    return el("details", el("summary", line), details, id=name, class_=below, data_in=place)


def around_block(turn: LiveTurn, lang: str) -> Html:
    """The agent's list of what it is going to do, and how much of its memory is used."""
    usage = turn.usage
    context = ""
    if usage is not None and usage.context_size:
        context = say(lang, "console.session.context", percent=round(100 * usage.context_used / usage.context_size))
    todos = el("ul", [_todo(item, lang) for item in turn.todos], class_="todos") if turn.todos else None
    return el("div", todos, el("p", context, class_="hint") if context else None, id=f"around-{turn.job_id}")


def _todo(item: TodoItem, lang: str) -> Html:
    return el(
        "li",
        el("span", _TODO_SIGNS[item.status], aria_hidden="true"),
        el("span", f"{say(lang, _TODO_WORDS[item.status])}:", class_="spoken"),
        " ",
        isolate(item.text, 200),
        class_=f"todo-{item.status}",
    )


def _answer(turn: ShownTurn, lang: str) -> Content:
    job = turn.job
    if job.error_code or job.state == "unknown_after_crash":
        code = job.error_code or "E_UNKNOWN_AFTER_CRASH"
        name = f"#{job.job_id.rpartition('_')[2].lstrip('0')}"
        words = join_sentences(error_what(lang, code, job=name), error_next_step(lang, code, job=name))
        detail = visible_lines(job.error_message or "")[-2000:]
        return (
            turn.answer,
            el("p", el("code", code), " ", words, class_="problem"),
            el("pre", el("code", detail), tabindex="0") if detail else None,
        )
    whole = el("a", say(lang, "console.session.whole"), href=job_path(job.job_id, "answer.txt"), class_="button small")
    return turn.answer, el("p", say(lang, "console.session.cut"), " ", whole, class_="hint") if turn.is_cut else None


def _files(job: JobView, lang: str) -> Content:
    shown: list[Html] = []
    for number, file in enumerate(job.files):
        path = job_path(job.job_id, f"files/{number}")
        if file.media_type in _SHOWN_IMAGES:
            picture = el("img", src=path, alt=isolate_name(file.name, lang), loading="lazy")
            shown.append(el("a", picture, href=path, class_="picture"))
        else:
            shown.append(el("a", isolate(file.name, 80), href=path, class_="button small"))
    return el("div", shown, class_="files") if shown else None


def _changed_files(job: JobView, lang: str) -> Content:
    """What the turn did to files, in a line, and the way to read it."""
    if job.changed is None:
        return None
    words = say(lang, "console.changes.undone") if job.is_undone else files_line(job.changed, lang, one_line)
    undo = post_form(job_path(job.job_id, "undo"), button(say(lang, "card.undo"), kind="small"), class_="goes-on")
    redo = post_form(job_path(job.job_id, "redo"), button(say(lang, "console.do.redo"), kind="small"), class_="goes-on")
    changes = el("a", say(lang, "card.changes"), href=job_path(job.job_id, "changes"), class_="button small")
    form = None if job.is_live else redo if job.is_undone else undo
    return el("div", el("span", isolate(words), class_="about-inline"), changes, form, class_="row changed")


def isolate_name(name: str, lang: str) -> str:
    return say(lang, "console.session.image", name=name[:80])


def _foot(turn: ShownTurn, lang: str, now: str) -> Html:
    job = turn.job
    state = say(lang, "status.queued", position=turn.position + 1) if job.state == "queued" else None
    tokens = job.input_tokens + job.output_tokens
    facts = [
        job.machine,
        _took(job),
        say(lang, "chat.tokens", count=short_number(tokens)) if tokens else "",
        f"${job.cost_usd:.2f}" if job.cost_usd >= 0.005 else "",
        say(lang, "console.session.undelivered") if job.answer_given_up else "",
    ]
    words = say(lang, "console.do.cancel") if job.is_live else say(lang, "console.do.retry")
    action = "cancel" if job.is_live else "retry" if job.state in RETRYABLE and job.cause != "agent" else ""
    form = post_form(job_path(job.job_id, action), button(words, kind="small")) if action else None
    steer = post_form(job_path(job.job_id, "steer"), button(say(lang, "console.do.steer"), kind="small"))
    running = el("span", class_="elapsed", data_since=job.started_at) if job.is_live and job.started_at else None
    return el(
        "footer",
        el("span", state, class_="badge state-queued") if state else state_badge(job.state, lang),
        running,
        job_link(job.job_id),
        el("span", " · ".join(filter(None, facts))),
        moment(job.finished_at, now, lang) if job.finished_at else None,
        steer if turn.can_be_steered else None,
        form,
        el("a", say(lang, "card.changes"), href=job_path(job.job_id, "changes"))
        if job.is_live and job.has_snapshot
        else None,
        class_="row turn-foot",
    )


def _took(job: JobView) -> str:
    if job.started_at is None or job.finished_at is None:
        return ""
    return duration(timestamps.seconds_between(job.started_at, job.finished_at))
