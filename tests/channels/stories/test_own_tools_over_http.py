"""What agents send and ask by themselves, for clients that fetch: kept until acknowledged, across a restart."""

from pathlib import Path

import pytest

from fairlead.api.wire import SentInfo
from fairlead.core.agent_tools import ToolHolder
from tests.channels.harness import DaemonHarness, a_client, run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("D4")]

KEY = "agent:fairlead:user:alice"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call(daemon: DaemonHarness, home: Path, tool: str, call_id: str = "c1", **arguments: object) -> None:
    holder = ToolHolder(mark="x", project_path=str(home / "proj"), session_key=KEY)  # type: ignore[arg-type]
    reply = await daemon.flow.agent_calls.call(holder, call_id=call_id, tool=tool, arguments=dict(arguments))
    assert reply.ok, reply.text


async def test_a_message_and_its_file_wait_until_they_are_acknowledged(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        (tmp_path / "proj" / "a.txt").write_text("inside")
        await call(daemon, tmp_path, "send_message", text="half done")
        await call(daemon, tmp_path, "send_file", "c2", path="a.txt")
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon, channel="http") as client:
        first, second = await client.unfetched_messages("alice")
        assert (first.text, second.text) == ("half done", "")
        assert await client.file(second.files[0].url) == b"inside"
        assert await client.unfetched_messages("bob") == ()
        for sent in (first, second):
            await client.acknowledge_message(sent.sent_id)
        assert await client.unfetched_messages("alice") == ()
        status, _ = await daemon.get(second.files[0].url)
        assert status == 404
        status, _ = await daemon.post(f"/v1/sent/{second.sent_id}/ack")
        assert status == 404


async def test_who_listens_to_the_session_hears_of_it_at_once(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon, channel="http") as client:
        await daemon.say("alice", "hello")
        heard = aiter(client.session_events("alice"))
        await anext(heard)
        await call(daemon, tmp_path, "send_message", text="now")
        event = await anext(heard)
        assert isinstance(event, SentInfo)
        assert event.text == "now"


async def test_a_question_is_answered_over_http_after_a_restart(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        await call(daemon, tmp_path, "ask_user", question="Which?", choices=["red", "blue"])
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon, channel="http") as client:
        [question] = await client.questions("alice")
        job_id = await client.respond(question.question_id, "allow", user="alice", chosen={"Which?": "blue"})
        done = await daemon.until(job_id, "done")
        assert "Answer: blue" in done.data["job"]["answer"]
        assert await client.questions("alice") == ()
