"""A channel that is written in an afternoon: it imports ports, core and render alone, and everything works."""

import ast
import asyncio
from pathlib import Path

import pytest

from fairlead.core.live import JobMoved
from fairlead.ports import Channel, Gate, View
from tests.channels.stories.toy_channel import PostOffice
from tests.flow.harness import run_flow, virtually

pytestmark = pytest.mark.req("D7")


def test_it_knows_nothing_but_ports_core_and_render():
    source = (Path(__file__).parent / "toy_channel.py").read_text()
    modules = {
        node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairlead")
    }
    assert {module.split(".")[1] for module in modules} == {"ports", "core", "render", "errors"}
    assert not modules & {"fairlead.core.state", "fairlead.core.fold", "fairlead.core.read_models"}


@pytest.mark.req("D2", "D3")
@virtually
async def test_letters_go_in_and_answers_come_back_to_the_same_box():
    office = PostOffice()
    async with run_flow(channels=[office]) as daemon:
        channel: Channel = office
        gate: Gate = daemon.gate
        view: View = daemon.view
        assert channel.name == "post"
        assert await office.receive(gate, box="12", sender="alice", letter="hello") == "queued as job_20260105_0001"
        await office.receive(gate, box="34", sender="bob", letter="/long 500")
        await daemon.quiet()
        assert office.boxes["12"] == ["echo agent:fairlead:user:alice: hello"]
        assert len(office.boxes["34"]) > 1, "long answers come in pieces that fit into an envelope"
        assert all(len(letter) <= 250 for letter in office.boxes["34"])
        assert view.history("agent:fairlead:user:alice")


@pytest.mark.req("A12", "A18")
@virtually
async def test_commands_and_refusals_are_words():
    office = PostOffice()
    async with run_flow(channels=[office]) as daemon:
        assert "E_NOT_IN_MANAGED_THREAD" in await office.receive(daemon.gate, box="1", sender="alice", letter="STATUS")
        await office.receive(daemon.gate, box="1", sender="alice", letter="hello")
        await daemon.quiet()
        assert "project: api" in await office.receive(daemon.gate, box="1", sender="alice", letter="STATUS")
        assert "E_EMPTY_MESSAGE" in await office.receive(daemon.gate, box="1", sender="alice", letter="  ")


@pytest.mark.req("B4")
@virtually
async def test_a_question_is_answered_by_letter():
    office = PostOffice()
    async with run_flow(channels=[office]) as daemon:
        watch = daemon.view.watch()
        await office.receive(daemon.gate, box="1", sender="alice", letter="/ask rm -rf build")
        await daemon.until(lambda: bool(office.questions))
        assert "rm -rf build" in office.boxes["1"][0]
        await office.receive(daemon.gate, box="1", sender="alice", letter="YES")
        await daemon.quiet()
        assert "allowed: rm -rf build" in office.boxes["1"][-1]
        states = []
        while "success" not in states:
            event = await anext(aiter(watch))
            states += [event.state] if isinstance(event, JobMoved) else []
        assert states == ["queued", "running", "waiting", "running", "success"]
        await watch.aclose()


@virtually
async def test_what_was_owed_at_a_restart_is_delivered_by_the_next_postman():
    office = PostOffice()
    office.is_open = False
    async with run_flow(channels=[office]) as daemon:
        await office.receive(daemon.gate, box="1", sender="alice", letter="hello")
        await daemon.until(lambda: bool(daemon.state.outbox))
        await asyncio.sleep(100)
        disk = daemon.disk
    later = PostOffice()
    async with run_flow(disk=disk, channels=[later]) as daemon:
        await daemon.quiet()
        assert later.boxes["1"] == ["echo agent:fairlead:user:alice: hello"]
