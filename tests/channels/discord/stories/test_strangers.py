"""A stranger on every path at once; and after a run of everything, a search for the secrets wherever they could be."""

import json
import shutil
from pathlib import Path

import aiohttp
import pytest
from loopback_discord import Fault

from tests.channels.discord.harness import Stage, a_stage
from tests.support import hostile_agent

pytestmark = pytest.mark.anyio

API_KEY = "sk-codex-own-key-4711"
OTHER_KEY = "sk-anthropic-key-0815"


@pytest.mark.req("A13")
async def test_a_stranger_gets_in_by_no_path(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        eve = stage.discord.person("eve")
        assert stage.text_channel.channel.guild is not None
        thread = await stage.start_thread()
        stage.owner.say(thread, "/ask rm -rf build")
        asked = await thread.wait_for_answer(lambda m: "rm -rf build" in m.content and bool(m.components))
        queued = stage.owner.say(thread, "the owner's own words")
        await stage.daemon.until_journalled("JobEnqueued", message_id=str(queued.id))
        before = len(stage.daemon.journal(""))

        planted = eve.say(eve.dm, "a direct message")
        eve.tell_bot(stage.text_channel, "a mention")
        said = eve.say(thread, "a message in the thread")
        eve.edit(said, "an edit in the thread")
        eve.edit(planted, "an edit in the direct message")
        eve.delete(said)
        eve.react(queued, "🤖")
        eve.click(asked, "Allow once")
        assert await eve.autocomplete(stage.text_channel, "start", "project_name", "").choices() == []
        assert "E_OWNER_ONLY" in (await eve.slash(stage.text_channel, "project list").reply()).content
        async with aiohttp.ClientSession() as http:
            url = (tmp_path / "state/http-address").read_text().strip()
            for method, path in (("POST", "/v1/messages"), ("GET", "/v1/questions"), ("POST", "/v1/questions/q_1")):
                async with http.request(method, url + path, json={"userId": "eve", "message": "hi"}) as response:
                    assert response.status == 401

        await stage.owner.click(asked, "Deny").reply()
        await thread.wait_for_answer(lambda m: "the owner's own words" in m.content)
        facts = stage.daemon.journal("")[before:]
        assert str(eve.id) not in json.dumps(facts)
        assert {fact["payload"]["person"] for fact in facts if "person" in fact["payload"]} == {str(stage.owner.id)}
        assert not [text for text in thread.texts if "a message in the thread" in text and "echo" in text]
        assert eve.dm.from_bot == []


@pytest.mark.req("B14", "A13")
async def test_after_a_run_of_everything_no_secret_is_found_where_it_does_not_belong(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy(hostile_agent.__file__, tmp_path / "bin" / "codex")
    (tmp_path / "bin" / "codex").chmod(0o755)
    more = {"OPENAI_API_KEY": API_KEY, "ANTHROPIC_API_KEY": OTHER_KEY, "FAIRLEAD_WEBHOOK_IDENTITY": "1"}
    async with a_stage(tmp_path, **more) as stage:
        found = await run_everything(stage)
        token = (tmp_path / "state/http-token").read_text().strip()
        secrets = {"bot token": stage.discord.token, "HTTP token": token, "another agent's key": OTHER_KEY}
        world = stage.discord.world
        secrets |= {f"token of interaction {each.id}": each.token for each in world.interactions.values()}
        secrets |= {f"token of webhook {each.id}": each.token for each in world.webhooks.values()}
        assert len(secrets) > 5
        children = found["environment"] + found["arguments"]
        assert [name for name, secret in secrets.items() if secret in children] == []
        assert API_KEY in found["environment"]  # its own key is its own
        assert API_KEY not in found["arguments"]
        told = json.dumps([m.content for place in (stage.text_channel, stage.owner.dm) for m in place.messages])
        assert [name for name, secret in secrets.items() if secret in told] == []
        await stage.daemon.stop()
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "http-token"]
    assert {"events.ndjson", "snapshot.json", "app.ndjson", "config.json"} <= {file.name for file in kept}
    leaks = [
        (name, str(file.relative_to(tmp_path)))
        for file in kept
        for name, secret in secrets.items()
        if secret.encode() in file.read_bytes()
    ]
    assert leaks == []


async def run_everything(stage: Stage) -> dict[str, str]:
    """Messages, commands, a failure, a question and an agent that tells all it was given; and what makes discord.py
    name an address in a warning or in an error, since the tokens of interactions and webhooks stand there."""
    owner, dm = stage.owner, stage.owner.dm
    for fault in (Fault.rate_limit(0.1), Fault.status(503), Fault.reset()):
        stage.discord.faults.next("PATCH", "/webhooks/*/messages/@original", fault)
        stage.discord.faults.next("POST", "/interactions/*/callback", Fault.rate_limit(0.1))
        await owner.slash(stage.text_channel, "projects").reply(timeout=60)
    deeds = {"environment": ("environment",), "arguments": ("read", "/proc/self/cmdline"), "user": ("who",)}
    said = owner.say(dm, json.dumps(deeds))
    answer = await dm.wait_for_answer(after=said)
    told = json.loads(answer.content.partition("\n-# ")[0])
    environment, arguments = told["environment"], told["arguments"]
    await owner.slash(stage.text_channel, "project list").reply()
    await owner.slash(stage.text_channel, "tool", tool="echo").reply()
    thread = await stage.start_thread()
    owner.say(thread, "no JSON at all")  # the agent breaks, and its traceback goes to the log of the job
    await stage.daemon.until_journalled("JobFailed")
    return {"environment": json.dumps(environment), "arguments": arguments}
