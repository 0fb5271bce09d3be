"""What an agent is given for a turn."""

import asyncio

import pytest

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.engine import (
    TurnEnded,
)
from fairlead.core.inbound import Attachment
from fairlead.errors import Code, error
from tests.flow.harness import Agent, flow_house, virtually

pytestmark = pytest.mark.req("E1")


@virtually
async def test_what_an_agent_is_given():
    async with flow_house() as flow:
        await flow.command(
            ask.ProjectCreate(
                name="second",
                path="/srv/second",
                tools=("echo",),
                default_tool="echo",
                args={"echo": ("--x", "a b")},
            )
        )
        seen = []

        async def play(invocation):
            seen.append(invocation)
            yield TurnEnded("ok")

        disk = flow.disk
    async with flow_house(disk=disk, runtimes=[Agent(play)]) as flow:
        job = await flow.answered("-rf /", project="second")
        [given] = seen
        assert given.prompt == "-rf /"
        assert given.args == ("--x", "a b")
        assert given.project_path == "/srv/second"
        assert given.workspace_path == "/state/workspaces/second"
        assert given.mark == f"abcd:{job.job_id}"
        assert given.attempt == 1


@pytest.mark.req("B11")
@virtually
async def test_a_project_that_is_gone_when_the_job_starts_fails_the_job_before_any_agent_is_asked():
    from tests.flow.harness import PretendedDirectories

    directories = PretendedDirectories()
    async with flow_house(directories=directories) as flow:
        directories.gone.add("/srv/api")
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_INVALID_PATH)
        assert flow.agents.invoked == []


class DiscordAttachments:
    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.blobs = None

    async def fetch(self, job):
        if self.fault is not None:
            raise self.fault
        await asyncio.sleep(30)
        blob = await self.blobs.put(b"bytes")
        return tuple(
            Attachment(name=a.name, media_type=a.media_type, size=a.size, url=a.url, blob=blob) for a in job.attachments
        )


@virtually
async def test_attachments_are_fetched_before_the_start_and_a_slow_one_keeps_its_place():
    fetching = DiscordAttachments()
    async with flow_house(fetchers={"chat": fetching}) as flow:
        fetching.blobs = flow.blobs
        await flow.say(
            "look",
            attachments=(Attachment(name="a.png", media_type="image/png", size=5, url="http://127.0.0.1/a.png"),),
        )
        await flow.say("second")
        await flow.quiet()
        assert [i.prompt for i in flow.agents.invoked] == ["look", "second"]
        assert [len(f.attachments) for f in flow.facts(e.AttachmentsStored)] == [1]


@pytest.mark.req("A18")
@virtually
async def test_an_attachment_that_is_gone_fails_the_job_with_its_code():
    fetching = DiscordAttachments(error(Code.E_ATTACHMENT_GONE, "a.png is gone"))
    async with flow_house(fetchers={"chat": fetching}) as flow:
        job = await flow.answered("look", attachments=(Attachment(name="a.png", url="http://127.0.0.1/a.png"),))
        assert (job.state, job.error_code) == ("failed", Code.E_ATTACHMENT_GONE)
