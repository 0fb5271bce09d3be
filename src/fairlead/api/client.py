"""The client of our own HTTP API: for the terminal, for scripts, and for any other program that speaks to Fairlead.

1. A message is sent with a key of its own, so that sending it again after a broken connection makes no second job.
2. A broken event stream is taken up where it broke; after a restart of the server it starts again, with `accepted`.
3. A refusal is raised as the FairleadError that the server raised; a server out of reach as `ServerAway`.
"""

import asyncio
import errno
import io
import math
import random
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec

from fairlead.api import wire as w
from fairlead.api.routes import call_for
from fairlead.api.sse import EventReader, ServerSentEvent
from fairlead.core.command_spec import Choice, CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.engine import Verdict
from fairlead.core.replies import Reply
from fairlead.core.requests import Request
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.backoff import Backoff

T = TypeVar("T")

_BACKOFF: Final = Backoff(first=0.1, ceiling=5.0)
_SILENCE_SEC: Final = 45.0
"""Three heartbeats: a server that is silent for longer is gone, whatever TCP believes."""

OnAway = Callable[[int, Exception], None]


class ServerAway(Exception):  # noqa: N818 - a condition of the world, not a mistake
    """No server responds at this address now. `why` is for people."""

    def __init__(self, base_url: str, why: str) -> None:
        super().__init__(f"Fairlead does not answer at {base_url}: {why}")
        self.base_url = base_url
        self.why = why


class Client:
    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        channel: str = "http",
        patience_sec: float = 60.0,
        commands: CommandCatalogue = COMMANDS,
        find_server: Callable[[], str | None] | None = None,
    ) -> None:
        """`find_server` is asked where the server is now, whenever it does not respond: it may have been restarted at
        another address."""
        self.base_url = base_url.rstrip("/")
        self.commands = commands
        self._headers = {
            "Authorization": f"Bearer {token}",
            w.CHANNEL_HEADER: channel,
            w.ACK_HEADER: w.MANUAL,
        }
        self._patience_sec = patience_sec
        self._find_server = find_server
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=_SILENCE_SEC),
            auto_decompress=False,
            trust_env=False,  # a proxy for the outside world cannot reach loopback
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()

    # --- the console ------------------------------------------------------------------------------------------------

    async def console_link(self, person: str = "") -> w.ConsoleLink:
        """A one-time link that logs a browser in; without a person, for the owner."""
        return await self._ask("POST", "/v1/console/links", w.ConsoleLink, body=w.NewConsoleLink(person))

    async def console_logins(self) -> w.ConsoleLoginList:
        return await self._ask("GET", "/v1/console/logins", w.ConsoleLoginList)

    async def end_console_login(self, number: int) -> w.ConsoleLoginEnded:
        return await self._ask("POST", f"/v1/console/logins/{number}/end", w.ConsoleLoginEnded)

    # --- messages and jobs ------------------------------------------------------------------------------------------

    async def submit(
        self,
        user: str,
        message: str,
        *,
        project: str | None = None,
        tool: str | None = None,
        key: str | None = None,
        files: Sequence[w.NewFile] = (),
        on_away: OnAway | None = None,
    ) -> w.Accepted:
        """Returns when the message is written; sends it again, as the same message, while no server responds."""
        body = w.NewMessage(user, message, project, tool, files=tuple(files))
        headers = {w.KEY_HEADER: key or uuid.uuid4().hex}
        deadline = asyncio.get_running_loop().time() + self._patience_sec
        attempt = 0
        while True:
            try:
                return await self._ask(
                    "POST", "/v1/messages", w.Accepted, body=body, query={"wait": "0"}, headers=headers
                )
            except ServerAway as away:
                attempt += 1
                await self._wait(attempt, away, deadline, on_away)

    async def events(self, job_id: str, *, on_away: OnAway | None = None) -> AsyncIterator[w.StreamEvent]:
        """What happens in a job, up to and with its end (Done or Failed), across broken connections."""
        last_id = ""
        attempt = 0
        deadline = asyncio.get_running_loop().time() + self._patience_sec
        while True:
            try:
                path = f"/v1/jobs/{quote(job_id, safe='')}/events"
                async for heard in self._listen(path, last_id):
                    if heard is None:
                        continue
                    attempt, deadline = 0, asyncio.get_running_loop().time() + self._patience_sec
                    last_id = heard.id or last_id
                    if heard.event is not None:
                        yield heard.event
                    if isinstance(heard.event, w.Done | w.Failed):
                        return
                away = ServerAway(self.base_url, "the stream ended before its job did")
            except ServerAway as fault:
                away = fault
            except (aiohttp.ClientError, TimeoutError, OSError) as fault:
                away = ServerAway(self.base_url, describe_fault(fault))
            attempt += 1
            await self._wait(attempt, away, deadline, on_away)

    async def session_events(self, user: str, *, on_away: OnAway | None = None) -> AsyncIterator[w.StreamEvent | None]:
        """What happens in this person's session, for ever, across broken connections. None stands for a connection that
        was made: what happened before it was not heard."""
        attempt = 0
        while True:
            try:
                async for heard in self._listen("/v1/events", query={"userId": user}):
                    attempt = 0
                    if heard is None or heard.event is not None:
                        yield None if heard is None else heard.event
                away = ServerAway(self.base_url, "the stream ended")
            except ServerAway as fault:
                away = fault
            except (aiohttp.ClientError, TimeoutError, OSError) as fault:
                away = ServerAway(self.base_url, describe_fault(fault))
            attempt += 1
            await self._wait(attempt, away, math.inf, on_away)

    async def file(self, url: str) -> bytes:
        """A file of an answer, by the `url` that the answer has for it."""
        try:
            async with self._request("GET", url) as response:
                content = await response.read()
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError, OSError) as fault:
            raise ServerAway(self.base_url, describe_fault(fault)) from fault
        if response.status >= 400:
            raise _fault_in(content, response.status)
        return content

    async def job(self, job_id: str) -> w.JobInfo:
        return await self._ask("GET", f"/v1/jobs/{quote(job_id, safe='')}", w.JobInfo)

    async def acknowledge(self, job_id: str) -> None:
        await self._ask("POST", f"/v1/jobs/{quote(job_id, safe='')}/ack", w.Acknowledged)

    async def unfetched_jobs(self, user: str) -> tuple[w.JobInfo, ...]:
        """All of them, page by page."""
        return await self._all_jobs("/v1/answers", w.AnswerPage, {w.USER: user})

    async def unfetched_messages(self, user: str) -> tuple[w.SentInfo, ...]:
        """What agents sent by themselves and this person has not got yet."""
        return (await self._ask("GET", "/v1/sent", w.SentList, query={w.USER: user})).messages

    async def acknowledge_message(self, sent_id: str) -> None:
        await self._ask("POST", f"/v1/sent/{quote(sent_id, safe='')}/ack", w.Acknowledged)

    async def history(self, session: str) -> tuple[w.JobInfo, ...]:
        """All of its recent jobs, page by page."""
        return await self._all_jobs(f"/v1/sessions/{quote(session, safe='')}/history", w.JobList, {})

    async def _all_jobs(
        self, path: str, kind: type[w.JobList | w.AnswerPage], query: dict[str, str]
    ) -> tuple[w.JobInfo, ...]:
        jobs: list[w.JobInfo] = []
        after: dict[str, str] = {}
        while True:
            page = await self._ask("GET", path, kind, query=query | after)
            jobs += page.jobs
            if not page.next:
                return tuple(jobs)
            after = {"after": page.next}

    # --- commands and questions -------------------------------------------------------------------------------------

    async def command(self, request: Request, user: str) -> Reply:
        call = call_for(self.commands, request, user)
        return await self._ask(call.method, call.path, call.reply, body=call.body, query=call.query)

    async def choices(self, command: str, argument: str, typed: str, user: str) -> tuple[Choice, ...]:
        """The choices for an argument that a person is typing."""
        query = {"command": command, "argument": argument, "typed": typed, "userId": user}
        return (await self._ask("GET", "/v1/choices", w.ChoiceList, query=query)).choices

    async def files(self, directory: str, typed: str, user: str) -> tuple[Choice, ...]:
        """What lies below the directory of a project and fits what a person is typing."""
        query = {"directory": directory, "typed": typed, "userId": user}
        return (await self._ask("GET", "/v1/files", w.ChoiceList, query=query)).choices

    async def questions(self, user: str | None = None) -> tuple[w.QuestionInfo, ...]:
        query = {} if user is None else {"userId": user}
        return (await self._ask("GET", "/v1/questions", w.QuestionList, query=query)).questions

    async def respond(
        self,
        question_id: str,
        verdict: Verdict,
        *,
        user: str | None = None,
        chosen: dict[str, str] | None = None,
        message: str = "",
        for_session: bool = False,
        always: int = 0,
    ) -> str:
        """The id of the job that goes on, or that the response began."""
        body = w.QuestionAnswer(
            verdict=verdict,
            chosen=chosen or {},
            message=message,
            for_session=for_session,
            always=always,
            userId=user,
        )
        path = f"/v1/questions/{quote(question_id, safe='')}"
        return (await self._ask("POST", path, w.Answered, body=body)).job_id

    async def health(self) -> w.Health:
        return await self._ask("GET", "/v1/health", w.Health)

    # --- the wire ---------------------------------------------------------------------------------------------------

    async def _ask(
        self,
        method: str,
        path: str,
        reply: type[T],
        *,
        body: msgspec.Struct | None = None,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> T:
        more = dict(headers or {})
        data = None
        if body is not None:
            data = io.BytesIO(msgspec.json.encode(body))  # in pieces: megabytes at once would hold up the loop
            more["Content-Type"] = "application/json"
        try:
            async with self._request(method, path, data=data, params=query, headers=more) as response:
                content = await response.read()
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError, OSError) as fault:
            raise ServerAway(self.base_url, describe_fault(fault)) from fault
        if response.status >= 400:
            raise _fault_in(content, response.status)
        return msgspec.json.decode(content, type=reply)

    def _request(self, method: str, path: str, **more: Any) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        assert self._http is not None, "use the client as a context manager"
        return self._http.request(method, f"{self.base_url}{path}", **more)

    async def _listen(
        self, path: str, last_id: str = "", *, query: dict[str, str] | None = None
    ) -> AsyncIterator[ServerSentEvent | None]:
        """None first, once the server listens."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        reader = EventReader()
        async with self._request("GET", path, headers=headers, params=query) as response:
            if response.status >= 400:
                raise _fault_in(await response.read(), response.status)
            yield None
            async for chunk in response.content.iter_any():
                for heard in reader.feed(chunk):
                    yield heard

    async def _wait(self, attempt: int, away: ServerAway, deadline: float, on_away: OnAway | None) -> None:
        if asyncio.get_running_loop().time() > deadline:
            raise away
        if on_away is not None:
            on_away(attempt, away)
        place = None if self._find_server is None else self._find_server()
        self.base_url = place or self.base_url
        await asyncio.sleep(_BACKOFF.delay(attempt, random.random))


def describe_fault(fault: Exception) -> str:
    """Why a server cannot be reached, in words: a library's own are about sockets."""
    match fault:
        case aiohttp.ClientConnectorDNSError():
            return "the host name is unknown"
        case aiohttp.ClientConnectorError() if fault.os_error.errno == errno.ECONNREFUSED:
            return "no server is listening there"
        case TimeoutError():
            return "the request timed out"
        case aiohttp.ClientConnectorError():
            return "the connection failed"
        case _:
            return "the connection was lost"


def error_in(fault: w.Fault) -> FairleadError:
    """The error that the server speaks of. A newer server may use a code that this client does not know."""
    try:
        return error(Code(fault.code), fault.message, next_step=fault.next)
    except ValueError:
        return error(Code.E_INTERNAL, f"{fault.code}: {fault.message}", next_step=fault.next)


def _fault_in(content: bytes, status: int) -> FairleadError:
    """The server's own error, or one that says that the server at this address is not Fairlead."""
    try:
        return error_in(msgspec.json.decode(content, type=w.FaultBody).error)
    except msgspec.DecodeError:
        return error(Code.E_INTERNAL, f"The server answered {status} with a body that Fairlead does not send.")
