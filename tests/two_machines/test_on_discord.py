"""A project on another machine, on Discord: what people read there, with a real server and a real runner."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.channels.discord.harness import Stage, a_stage
from tests.nats_wire.harness import free_port

pytestmark = pytest.mark.anyio


async def typed(environment: dict[str, str], *command: str) -> str:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fairlead", *command),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await program.communicate()
    assert program.returncode == 0, said.decode()
    return said.decode()


def at_gpu(stage: Stage) -> dict[str, str]:
    home = stage.daemon.home / "gpu-home"
    (home / "trainer").mkdir(parents=True, exist_ok=True)
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "FAIRLEAD_RUNNER_DIR": str(stage.daemon.home / "gpu")}


async def start_runner(stage: Stage) -> asyncio.subprocess.Process:
    with (stage.daemon.home / "runner.txt").open("ab") as out:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairlead", "runner", "run"), env=at_gpu(stage), stdout=out, stderr=out
        )


async def until_listed(stage: Stage, words: str) -> str:
    """What `/machine list` says, once it says this."""
    while True:
        said = (await stage.owner.slash(stage.text_channel, "machine list").reply()).content
        if words in said:
            return said
        await asyncio.sleep(0.2)


@pytest.mark.req("H1", "H2", "H8")
async def test_what_people_read_on_discord_of_a_project_on_another_machine(tmp_path: Path):
    settings = {"FAIRLEAD_MACHINES": "1", "FAIRLEAD_MACHINES_LISTEN": f"127.0.0.1:{free_port()}"}
    async with asyncio.timeout(120), a_stage(tmp_path, **settings) as stage:
        line = await typed(stage.daemon.environment, "machine", "add", "gpu")
        await typed(at_gpu(stage), *line.split()[1:])
        runner = await start_runner(stage)
        try:
            listed = await until_listed(stage, "gpu: connected since <t:")
            assert "agents: echo" in listed
            added = await stage.owner.slash(stage.text_channel, "project add", path="gpu:~/trainer").reply()
            assert "gpu:" in added.content
            projects = (await stage.owner.slash(stage.text_channel, "project list").reply()).content
            assert "machine: gpu (connected)" in projects
            thread = await stage.start_thread("gpu/trainer")
            said = stage.owner.say(thread, "hello")
            answer = await thread.wait_for_answer(lambda m: "hello" in m.content, after=said)
            assert answer.content.splitlines()[-1].startswith("-# gpu")
            said = stage.owner.say(thread, "/ask rm -rf build")
            await thread.wait_for_answer(
                lambda m: m.content.startswith(f"<@{stage.owner.id}> The agent on gpu asks for permission: Bash"),
                after=said,
            )
            await stage.daemon.cancel(said)
            runner.send_signal(signal.SIGTERM)
            await runner.wait()
            await until_listed(stage, "gpu: not connected since <t:")
            said = stage.owner.say(thread, "are you there?")
            note = await thread.wait_for_answer(lambda m: m.content.startswith("🕓 Waiting: gpu is not"), after=said)
            assert "since <t:" in note.content
            await stage.daemon.cancel(said)
            await stage.discord.wait_for(lambda: note.deleted, timeout=60, what="the end of the note")
            renamed = await stage.owner.slash(stage.text_channel, "machine rename", name="gpu", new_name="big").reply()
            assert renamed.content == "gpu is now called big; its projects: big/trainer"
            assert (
                "machine: big (not connected)"
                in (await stage.owner.slash(stage.text_channel, "project list").reply()).content
            )
        finally:
            if runner.returncode is None:
                os.kill(runner.pid, signal.SIGKILL)
                await runner.wait()
