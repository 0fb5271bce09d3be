"""The way from an earlier version, whose daemon kept frames in the files of its server: a turn runs meanwhile."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from fairlead.nats_wire.connection import FAULTS, connect
from fairlead.nats_wire.owned_server import find_server_program
from fairlead.nats_wire.subjects import MachineSubjects
from tests.nats_wire.test_streams import ask, make_frame_streams, storage_of
from tests.two_machines.harness import Site, run, site
from tests.two_machines.test_faults import daemon_address


class ServerOfTheDaemon:
    """The daemon's own server with its own configuration and files, while the daemon is not there."""

    def __init__(self, here: Site) -> None:
        self._here = here
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self):
        program = find_server_program()
        assert program is not None
        config = self._here.home / "state" / "machines" / "server.json"
        with (self._here.home / "server.out").open("ab") as said:
            self._process = await asyncio.create_subprocess_exec(program, "-c", str(config), stdout=said, stderr=said)
        while True:
            try:
                self._connection = connect(daemon_address(self._here), name="an earlier version")
                return await self._connection.__aenter__()
            except FAULTS:
                await asyncio.sleep(0.02)

    async def __aexit__(self, *fault: object) -> None:
        await self._connection.__aexit__(None, None, None)
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        await self._process.wait()


@pytest.mark.req("H1", "H6")
def test_a_turn_that_ran_while_an_earlier_version_was_replaced_is_delivered_once(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            daemon = await here.start_daemon()
            await here.bring_up("gpu")
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            await daemon.end()
            machine = MachineSubjects(json.loads((tmp_path / "gpu" / "joined.json").read_text())["machine_id"])
            async with ServerOfTheDaemon(here) as client:
                for lane in ("orders", "facts"):
                    await client.request(f"$JS.API.STREAM.DELETE.{machine.stream(lane)}", b"")
                await make_frame_streams(client, machine, {"max_msgs": 50_000})
                here.gate("one").touch()
                await here.until(lambda: "one" in here.prompts("ended"))
                # The runner finds the streams in files, and says there what it owes.
                while not (await ask(client, f"STREAM.INFO.{machine.stream('facts')}", {}))["state"]["messages"]:
                    await asyncio.sleep(0.05)
            await here.start_daemon()
            job = await here.end_of(job_id)
            assert (job.state, job.answer) == ("success", "this is one")
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert (here.prompts(), len(here.journal("JobCompleted"))) == (["one", "two"], 2)
            async with connect(daemon_address(here), name="operator") as client:
                assert [await storage_of(client, machine.stream(lane)) for lane in ("orders", "facts")] == [
                    "memory"
                ] * 2

    run(story())
