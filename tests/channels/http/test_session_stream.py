"""What happens in a person's session, as a stream."""

from contextlib import aclosing
from pathlib import Path

import pytest

from fairlead.api import wire as w
from tests.channels.harness import a_client, run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("C5")]


async def test_a_client_hears_of_jobs_that_it_did_not_ask_for_and_of_no_other_session(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon) as client:
        async with aclosing(client.session_events("local")) as events:
            assert await anext(events) is None
            job_id = await daemon.begin("stranger", "not for you")
            await daemon.until(job_id, "done")
            accepted = await client.submit("local", "/usage 10 20\n/ask ls")
            heard: list[object] = []
            while not (isinstance(heard[-1:] and heard[-1], w.QuestionInfo)):
                heard.append(await anext(events))
            moves = [event.state for event in heard if isinstance(event, w.Moved)]
            assert moves == ["queued", "running", "waiting"]
            assert {event.job_id for event in heard} == {accepted.job_id}
            question = heard[-1]
            assert isinstance(question, w.QuestionInfo)
            await client.respond(question.question_id, "deny", user="local")
            states = [event.state async for event in _moves(events)]
            assert states == ["running", "success"]


async def _moves(events):
    async for event in events:
        if isinstance(event, w.Moved):
            yield event
            if event.state == "success":
                return


async def test_what_the_agent_used_is_in_the_stream_of_its_job(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon) as client:
        accepted = await client.submit("local", "/ask ls\n/usage 1200 300 0.01")
        question = await daemon.until(accepted.job_id, "question")
        used = []
        await client.respond(question.data["question_id"], "deny", user="local")
        async for event in client.events(accepted.job_id):
            used += [event] if isinstance(event, w.Usage) else []
        assert used == [w.Usage(input_tokens=1200, output_tokens=300, cost_usd=0.01)]
