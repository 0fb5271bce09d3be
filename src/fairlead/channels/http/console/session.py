"""The page of a session: its turns, what changes in them, and what a person says there."""

import re
import uuid
from collections.abc import Sequence
from typing import Final

from aiohttp.web_request import FileField

from fairlead.api.wire import MAX_FILES_BYTES
from fairlead.channels.http.console.feed import Happening
from fairlead.channels.http.console.turns import RenderedAnswers, find_fetched, load_turn
from fairlead.channels.http.console.visit import OWN, Fetched, Fragment, PageContent, TextGrowth, Visit, is_about
from fairlead.core import message_ids, requests
from fairlead.core import replies as r
from fairlead.core.inbound import Attachment, Inbound, clean_text
from fairlead.core.job_names import job_number
from fairlead.core.limits import Limits
from fairlead.core.live import AgentActed, JobMoved, LiveEvent, RecordChanged
from fairlead.core.views import JobView, SessionView
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.file_names import clean_media_type, clean_name
from fairlead.kit.tasks import run_to_end
from fairlead.render.console.parts import session_path
from fairlead.render.console.session import (
    Choices,
    SessionHead,
    ShownTurn,
    around_block,
    part_block,
    part_id,
    send_buttons,
    session_head,
    session_page,
    session_settings,
    turn_block,
)
from fairlead.render.words import say

TURNS_SHOWN: Final = 12
_ANSWERS: Final = RenderedAnswers()
_MAX_FILES: Final = Limits().max_attachments
_KEY_FORM: Final = re.compile(r"[0-9a-zA-Z-]{8,64}")


async def build_session(visit: Visit) -> PageContent:
    name = visit.parts["session"]
    session = _find_session(visit, name)
    if session is None:
        return _build_unbegun(visit)
    before = _find_page_end(visit, session)
    jobs, earlier = _cut_jobs(visit.view.session_jobs(session.session_key), before)
    turns = [await load_turn(visit, session, job, _ANSWERS) for job in jobs]
    head = find_head(visit, session)
    page = session_page(
        head,
        tuple(turns),
        await _choices_in(visit, session),
        earlier=f"{session_path(session.session_id)}?before={earlier}" if earlier else "",
        is_past=bool(before),
        key=uuid.uuid4().hex,
        lang=visit.lang,
        now=visit.now,
        is_owner=visit.is_owner,
    )
    return PageContent(head.title, page, find_fetched(visit, session, turns))


def _find_session(visit: Visit, name: str) -> SessionView | None:
    """None for the visitor's own session before it has begun."""
    try:
        return visit.session(name)
    except FairleadError:
        if name in {OWN, visit.caller.session_key.text}:
            return None
        raise


def _build_unbegun(visit: Visit) -> PageContent:
    head = SessionHead(name=OWN, title=say(visit.lang, "console.sessions.own"), has_begun=False)
    page = session_page(
        head,
        (),
        Choices(),
        earlier="",
        key=uuid.uuid4().hex,
        lang=visit.lang,
        now=visit.now,
        is_owner=visit.is_owner,
    )
    return PageContent(say(visit.lang, "console.sessions.own"), page)


def _find_page_end(visit: Visit, session: SessionView) -> str:
    """Before which job the page ends; empty for the page with the latest turns. A turn that a link leads to is shown
    with a few after it."""
    around = [str(job.job_id) for job in visit.view.session_jobs(session.session_key)]
    wanted = visit.query.get("around", "")
    if wanted in around[: -TURNS_SHOWN // 2]:
        return str(job_number(around[around.index(wanted) + TURNS_SHOWN // 2]))
    return visit.query.get("before", "")


def _cut_jobs(jobs: list[JobView], before: str) -> tuple[list[JobView], int]:
    """The last turns before a job's number, and the number before which there are more; 0 if there are none."""
    limit = int(before) if before.isascii() and before.isdecimal() and len(before) < 10 else 0
    ahead = [job for job in jobs if not limit or job_number(job.job_id) < limit]
    shown = ahead[-TURNS_SHOWN:]
    return shown, job_number(shown[0].job_id) if len(ahead) > len(shown) else 0


def find_head(visit: Visit, session: SessionView) -> SessionHead:
    line = visit.view.session_line(session.session_key)
    return SessionHead(
        name=session.session_id,
        title=line.title,
        project=line.project,
        tool=line.tool,
        state=line.state,
        cost_usd=line.cost_usd,
        parent_session_id=line.parent_session_id,
        takes_texts=visit.view.takes_texts(session.session_key),
        children=tuple(one for one in visit.view.session_children(session.session_key) if visit.sees(one.session_key)),
    )


async def _choices_in(visit: Visit, session: SessionView) -> Choices:
    caller = visit.caller_in(session)
    try:
        report = await visit.command(requests.AgentStatus(), r.AgentReport, caller)
    except FairleadError:
        return Choices()
    return Choices(
        tool=report.tool,
        tools=tuple(choice.value for choice in visit.view.choices("tool", "", caller)),
        model=report.model,
        models=report.models,
        mode=report.mode,
        modes=report.modes if visit.is_owner else (),
    )


# --- what changes


async def session_changes(visit: Visit, seen: Sequence[Happening]) -> Sequence[Fragment]:
    session = _find_session(visit, visit.parts["session"])
    if session is None or _find_page_end(visit, session):
        return ()
    here = [one for one in seen if one.event.session_key == session.session_key]
    others = [one.event for one in here if not isinstance(one.event, AgentActed)]
    moved = dict.fromkeys(event.job_id for event in others if event.job_id)
    fragments: list[Fragment] = []
    if any(is_about(event, "session") for event in others):
        fragments.append(session_settings(find_head(visit, session), await _choices_in(visit, session), visit.lang))
    if others or any(_is_of_child(visit, session, one.event) for one in seen):
        head = find_head(visit, session)
        fragments += [session_head(head, visit.lang), send_buttons(head, visit.lang)]
        fragments += await _moved_turns(visit, session, list(moved))
    for one in here:
        if one.change is not None and one.event.job_id not in moved:
            fragments += _part_changes(visit, one)
    return fragments


def _is_of_child(visit: Visit, session: SessionView, event: LiveEvent) -> bool:
    if not isinstance(event, JobMoved) or event.session_key == session.session_key:
        return False
    other = visit.view.session(event.session_key)
    return other is not None and visit.view.session_line(event.session_key).parent_session_id == session.session_id


async def _moved_turns(visit: Visit, session: SessionView, job_ids: Sequence[str]) -> list[Fragment]:
    turns: list[ShownTurn] = []
    for job_id in job_ids:
        job = visit.view.recent_job(job_id)
        if job is not None and job.session_key == session.session_key:
            turns.append(await load_turn(visit, session, job, _ANSWERS))
    blocks = [turn_block(turn, visit.lang, visit.now, is_owner=visit.is_owner) for turn in turns]
    return [*blocks, *(Fetched(job_id) for job_id in find_fetched(visit, session, turns))]


def _part_changes(visit: Visit, one: Happening) -> list[Fragment]:
    change, turn = one.change, visit.feed.turn(one.event.job_id)
    if change is None or turn is None:
        return []
    if change.text:
        growth = TextGrowth(part_id(change.job_id, change.number), change.at, len(change.text), change.text)
        return [growth]
    if change.number < 0:
        return [around_block(turn, visit.lang)]
    part = turn.part(change.number)
    return [] if part is None else [part_block(change.job_id, change.number, part, visit.lang)]


# --- what a person says and presses


async def send_message(visit: Visit) -> str:
    """One message, once: the page gave it its id. It goes to this session, wherever else people talk to it."""
    name = visit.parts["session"]
    session = _find_session(visit, name)
    caller = visit.caller if session is None else visit.caller_in(session)
    files = await _keep_files(visit)
    inbound = Inbound(
        conversation=caller.conversation,
        session_key=caller.session_key,
        message_id=message_ids.idempotency_id(_read_key(visit)),
        person=caller.person,
        text=clean_text(visit.text("message").replace("\r\n", "\n")),
        attachments=files,
        pre_authorised=caller.pre_authorised,
        steers=bool(visit.text("steer")),
        own_session=caller.conversation != visit.caller.conversation,
    )
    await run_to_end(visit.service.gate.submit(inbound))
    return session_path(name)


def _read_key(visit: Visit) -> str:
    key = visit.text("key")
    return key if _KEY_FORM.fullmatch(key) else uuid.uuid4().hex


async def _keep_files(visit: Visit) -> tuple[Attachment, ...]:
    """Durable before the message is: a message that was taken has its files."""
    fields = [one for one in visit.values("files") if isinstance(one, FileField)]
    files = [(one, _read_file(one)) for one in fields if one.filename]
    if len(files) > _MAX_FILES:
        raise error(Code.E_INVALID_ARGS, f"At most {_MAX_FILES} files go with one message.")
    if sum(len(data) for _, data in files) > MAX_FILES_BYTES:
        raise error(Code.E_MESSAGE_TOO_LARGE, f"The files are larger than {MAX_FILES_BYTES >> 20} MiB together.")
    return tuple(
        [
            Attachment(
                name=clean_name(field.filename),
                media_type=clean_media_type(field.content_type),
                size=len(data),
                blob=await visit.service.blobs.put(data),
            )
            for field, data in files
        ]
    )


def _read_file(field: FileField) -> bytes:
    with field.file as file:
        return file.read()


async def change_session(visit: Visit) -> str:
    """Reset, stop, or another agent, model or mode."""
    session = visit.session(visit.parts["session"])
    caller, choice = visit.caller_in(session), visit.text("choice")
    match visit.parts["action"]:
        case "reset":
            await visit.command(requests.Reset(), r.SessionWasReset, caller)
        case "stop":
            await visit.command(requests.Cancel(), r.JobsCancelled, caller)
        case "tool" if choice:
            await visit.command(requests.Tool(choice), r.ToolSet, caller)
        case "model" if choice:
            await visit.command(requests.AgentModel(choice), r.ModelSet, caller)
        case "mode" if choice:
            await visit.command(requests.AgentMode(choice), r.ModeSet, caller)
            # The journal has no fact of it, so the page is told here: the mode is the agent's own.
            visit.feed.note(RecordChanged(what="session", session_key=session.session_key))
        case other:
            raise error(Code.E_INVALID_ARGS, f"There is no action {other[:40]!r}, or nothing was chosen for it.")
    return session_path(visit.parts["session"])
