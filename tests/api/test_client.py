"""Our own client against a real daemon, with a wire that breaks between them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.api.sse import EventReader
from fairlead.channels.http.errors import fault_of
from fairlead.core import replies, requests
from fairlead.errors import Code, FairleadError, error
from fairlead.render.words import error_next_step, error_what
from tests.channels.harness import a_client, run_daemon_in

pytestmark = pytest.mark.anyio


class Relay:
    """A wire that can be cut: it passes bytes on between the client and the daemon."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: set[asyncio.StreamWriter] = set()

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, far_writer}
        await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def a_relay(url: str) -> AsyncGenerator[tuple[Relay, str]]:
    relay = Relay(int(url.rpartition(":")[2]))
    server = await asyncio.start_server(relay.join, "127.0.0.1", 0)
    try:
        yield relay, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        relay.cut()
        await server.wait_closed()


@pytest.mark.req("C6")
async def test_a_broken_stream_is_taken_up_where_it_broke(tmp_path: Path):
    seen: list[w.StreamEvent] = []
    away: list[int] = []
    async with (
        run_daemon_in(tmp_path) as daemon,
        a_relay(daemon.url) as (relay, url),
        a_client(daemon, url=url) as client,
    ):
        accepted = await client.submit("local", "one\n/question Go on? | yes | no\ntwo")
        async for event in client.events(accepted.job_id, on_away=lambda attempt, _: away.append(attempt)):
            seen.append(event)
            if isinstance(event, w.QuestionInfo) and event.status == "open":
                relay.cut()
                await client.respond(event.question_id, "allow", chosen={"Go on?": "yes"})
    assert away
    assert sum(isinstance(event, w.Accepted) for event in seen) == 1
    told = "".join(event.text for event in seen if isinstance(event, w.Delta))
    assert isinstance(seen[-1], w.Done)
    assert told.strip() == seen[-1].job.answer.strip()


@pytest.mark.req("C6", "A8")
async def test_a_message_sent_into_a_broken_wire_arrives_once(tmp_path: Path):
    async with (
        run_daemon_in(tmp_path) as daemon,
        a_relay(daemon.url) as (relay, url),
        a_client(daemon, url=url) as client,
    ):
        first = await client.submit("local", "hello", key="k")
        relay.cut()
        second = await client.submit("local", "hello", key="k")
        assert daemon.flow.ledger.state.account.received == 1
    assert first.job_id == second.job_id
    assert second.duplicate


@pytest.mark.req("C6")
async def test_commands_come_back_as_the_structs_they_are(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon) as client:
        await client.submit("local", "hello")
        status = await client.command(requests.Status(), "local")
        projects = await client.command(requests.ProjectList(), "local")
        health = await client.health()
        with pytest.raises(FairleadError, match="nowhere") as caught:
            await client.command(requests.ProjectStatus("nowhere"), "local")
    assert isinstance(status, replies.StatusReport)
    assert isinstance(projects, replies.ProjectCatalogue)
    assert health.status == "ok"
    assert caught.value.code == Code.E_PROJECT_NOT_FOUND
    assert caught.value.next_step


async def test_a_server_that_is_not_there_is_named():
    async with Client("http://127.0.0.1:1", "token", patience_sec=0) as client:
        with pytest.raises(
            ServerAway, match=r"does not answer at http://127\.0\.0\.1:1: no server is listening there$"
        ):
            await client.submit("local", "hello")
        with pytest.raises(ServerAway):
            await client.health()


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_events_are_read_whole_however_they_are_cut(size: int):
    stream = b': still here\n\nid: a-1\nevent: delta\ndata: {"text":"x"}\n\nid: a-2\nevent: newer\ndata: {}\n\n'
    reader = EventReader()
    heard = [one for at in range(0, len(stream), size) for one in reader.feed(stream[at : at + size])]
    assert [(one.id, one.event) for one in heard] == [("a-1", w.Delta("x")), ("a-2", None)]


@pytest.mark.req("A18")
@pytest.mark.parametrize("code", Code)
def test_an_error_without_words_of_its_own_crosses_the_wire_as_whole_sentences(code: Code):
    fault = fault_of(error(code))
    assert fault == w.Fault(str(code), error_what("en", code), error_next_step("en", code))
    assert error_in(fault).code is code


def test_a_code_that_only_a_newer_server_knows_is_still_told():
    told = error_in(w.Fault("E_FROM_TOMORROW", "It is late.", "Come back."))
    assert (told.code, told.message, told.next_step) == (
        Code.E_INTERNAL,
        "E_FROM_TOMORROW: It is late.",
        "Come back.",
    )
