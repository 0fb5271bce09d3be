"""The client of our own HTTP API: for the terminal, for scripts, and for any other program that speaks to Fairlead.

1. A message is sent with a key of its own, so that sending it again after a broken connection makes no second job.
2. A broken event stream is taken up where it broke; after a restart of the server it starts again, with `accepted`.
3. A refusal is raised as the FairleadError that the server raised; a server out of reach as `ServerAway`.
"""

import asyncio
import io
import random
import uuid
from collections.abc import AsyncIterator, Callable
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
    """No server responds at this address now."""

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
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.commands = commands
        self._headers = {
            "Authorization": f"Bearer {token}",
            w.CHANNEL_HEADER: channel,
            w.ACK_HEADER: w.MANUAL,
        }
        self._patience_sec = patience_sec
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

    # --- messages and jobs ------------------------------------------------------------------------------------------

    async def submit(
        self,
        user: str,
        message: str,
        *,
        project: str | None = None,
        tool: str | None = None,
        key: str | None = None,
        on_away: OnAway | None = None,
    ) -> w.Accepted:
        """Returns when the message is written; sends it again, as the same message, while no server responds."""
        body = w.NewMessage(user, message, project, tool)
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
                async for heard in self._listen(job_id, last_id):
                    attempt, deadline = 0, asyncio.get_running_loop().time() + self._patience_sec
                    last_id = heard.id or last_id
                    if heard.event is not None:
                        yield heard.event
                    if isinstance(heard.event, w.Done | w.Failed):
                        return
                away = ServerAway(self.base_url, "the stream ended before its job did")
            except (ServerAway, aiohttp.ClientError, TimeoutError, OSError) as fault:
                away = fault
            attempt += 1
            await self._wait(attempt, away, deadline, on_away)

    async def job(self, job_id: str) -> w.JobInfo:
        return await self._ask("GET", f"/v1/jobs/{quote(job_id, safe='')}", w.JobInfo)

    async def acknowledge(self, job_id: str) -> None:
        await self._ask("POST", f"/v1/jobs/{quote(job_id, safe='')}/ack", w.Acknowledged)

    async def unfetched_jobs(self, user: str) -> tuple[w.JobInfo, ...]:
        return (await self._ask("GET", "/v1/answers", w.JobList, query={"userId": user})).jobs

    async def history(self, session: str) -> tuple[w.JobInfo, ...]:
        return (await self._ask("GET", f"/v1/sessions/{quote(session, safe='')}/history", w.JobList)).jobs

    # --- commands and questions -------------------------------------------------------------------------------------

    async def command(self, request: Request, user: str) -> Reply:
        call = call_for(self.commands, request, user)
        return await self._ask(call.method, call.path, call.reply, body=call.body, query=call.query)

    async def choices(self, command: str, argument: str, typed: str, user: str) -> tuple[Choice, ...]:
        """The choices for an argument that a person is typing."""
        query = {"command": command, "argument": argument, "typed": typed, "userId": user}
        return (await self._ask("GET", "/v1/choices", w.ChoiceList, query=query)).choices

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
    ) -> str:
        """The id of the job that goes on, or that the response began."""
        body = w.QuestionAnswer(
            verdict=verdict, chosen=chosen or {}, message=message, for_session=for_session, userId=user
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
            raise ServerAway(self.base_url, str(fault) or type(fault).__name__) from fault
        if response.status >= 400:
            raise _fault_in(content, response.status)
        return msgspec.json.decode(content, type=reply)

    def _request(self, method: str, path: str, **more: Any) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        assert self._http is not None, "use the client as a context manager"
        return self._http.request(method, f"{self.base_url}{path}", **more)

    async def _listen(self, job_id: str, last_id: str) -> AsyncIterator[ServerSentEvent]:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        reader = EventReader()
        path = f"/v1/jobs/{quote(job_id, safe='')}/events"
        async with self._request("GET", path, headers=headers) as response:
            if response.status >= 400:
                raise _fault_in(await response.read(), response.status)
            async for chunk in response.content.iter_any():
                for heard in reader.feed(chunk):
                    yield heard

    async def _wait(self, attempt: int, away: Exception, deadline: float, on_away: OnAway | None) -> None:
        if asyncio.get_running_loop().time() > deadline:
            raise away if isinstance(away, ServerAway) else ServerAway(self.base_url, str(away))
        if on_away is not None:
            on_away(attempt, away)
        await asyncio.sleep(_BACKOFF.delay(attempt, random.random))


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
        return error(Code.E_INTERNAL, f"The server answered {status} in words that Fairlead does not use.")
