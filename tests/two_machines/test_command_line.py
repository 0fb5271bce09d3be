"""What a person types: `fairlead machine` where the daemon runs, `fairlead runner` on the other machine."""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.core import requests
from tests.two_machines.harness import Site, run, site


async def typed(here: Site, environment: dict[str, str], *command: str) -> tuple[int, str]:
    program = await here.start("typed", environment, *command)
    code = await program.process.wait()
    said = program.said.read_text()
    program.said.unlink()
    return code, said


@pytest.mark.req("H1")
def test_a_machine_is_added_joins_is_listed_and_removed_by_what_is_typed(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            code, said = await typed(here, here.daemon_environment(), "machine", "add", "gpu")
            assert (code != 0, "Fairlead is not running here." in said) == (True, True), said
            await here.start_daemon()
            at_daemon, at_gpu = here.daemon_environment(), here.base | {"FAIRLEAD_RUNNER_DIR": str(tmp_path / "gpu")}
            assert await typed(here, at_daemon, "machine", "list") == (
                0, "No other machines were added: `fairlead machine add NAME` adds one\n",
            )  # fmt: skip
            code, line = await typed(here, at_daemon, "machine", "add", "gpu")
            assert (code, line.count("\n"), line.startswith("fairlead runner join fl1.")) == (0, 1, True)
            code, said = await typed(here, at_gpu, *line.split()[1:])
            assert (code, "This machine is gpu." in said, "dev.fairlead.runner.plist" in said) == (0, True, True)
            joined = tmp_path / "gpu" / "joined.json"
            assert joined.stat().st_mode & 0o777 == 0o600
            assert joined.parent.stat().st_mode & 0o777 == 0o700
            seed = json.loads(joined.read_text())["seed"]
            state = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
            assert [path for path in state if seed.encode() in path.read_bytes()] == []
            code, said = await typed(here, at_daemon, "machine", "list")
            assert (code, said.startswith("gpu: has not been connected yet.")) == (0, True)
            code, said = await typed(here, at_gpu, "runner", "doctor")
            assert (code, "the server accepts its key" in said, "no runner runs here" in said) == (0, True, True), said
            assert "  echo     ok" in said
            _, said = await typed(here, at_daemon, "doctor")
            assert f"machines   ok   tls://127.0.0.1:{here.nats_port} answers." in said
            assert "machines   WARN gpu: has not been connected yet." in said
            code, said = await typed(here, at_daemon, "machine", "remove", "gpu")
            assert (code, said) == (0, "gpu was removed; its key is not valid any more\n")
            code, said = await typed(here, at_gpu, "runner", "doctor")
            assert (code != 0, "E_MACHINE_REMOVED" in said, "fairlead machine add NAME" in said) == (True, True, True)

    run(story())


@pytest.mark.req("H1")
def test_a_second_fairlead_whose_server_would_listen_where_the_first_ones_does_is_not_started(tmp_path: Path):
    """Its runners would dial the server of the first one."""

    async def story() -> None:
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
        async with site(tmp_path / "one") as one, site(tmp_path / "other") as other:
            await one.start_daemon()
            free, other.nats_port = other.nats_port, one.nats_port
            code, said = await typed(other, other.daemon_environment(), "up", "--no-chat")
            assert (code, f"cannot listen on 127.0.0.1:{one.nats_port}" in said) == (78, True), said
            assert "Set FAIRLEAD_MACHINES_LISTEN to a free port" in said
            code, said = await typed(other, other.daemon_environment(), "doctor")
            assert (code != 0, f"another program listens at tls://127.0.0.1:{one.nats_port}" in said) == (True, True)
            other.nats_port = free
            await other.start_daemon()
            code, said = await typed(other, other.daemon_environment(), "doctor")
            assert f"machines   ok   tls://127.0.0.1:{free} answers." in said

    run(story())


@pytest.mark.req("H1")
def test_a_broken_line_is_refused_and_nothing_is_kept(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            at_gpu = here.base | {"FAIRLEAD_RUNNER_DIR": str(tmp_path / "gpu")}
            for line in ("hello", "fl1.abc"):
                code, said = await typed(here, at_gpu, "runner", "join", line)
                assert (code != 0, "Copy the whole line." in said) == (True, True), said
            code, said = await typed(here, at_gpu, "runner", "run")
            assert (code != 0, "has not joined" in said) == (True, True), said
            assert not (tmp_path / "gpu" / "joined.json").exists()

    run(story())


@pytest.mark.req("H1")
def test_with_one_machine_nothing_of_nats_is_imported(tmp_path: Path):
    program = (
        "import asyncio, sys\n"
        "from fairlead.app import run_daemon\n"
        "from fairlead.settings import load_settings\n"
        "async def main():\n"
        "    async with run_daemon(load_settings()):\n"
        "        print(sorted({m.split('.')[0] for m in sys.modules} & {'nats', 'nkeys', 'nacl'}))\n"
        "        print([m for m in sys.modules if m.startswith('fairlead.nats_wire')])\n"
        "asyncio.run(main())\n"
    )

    async def story() -> None:
        async with site(tmp_path) as here:
            environment = {**here.daemon_environment(), "FAIRLEAD_MACHINES": "0"}
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", program, env=environment, stdout=asyncio.subprocess.PIPE
            )
            said, _ = await process.communicate()
            assert (process.returncode, said.decode()) == (0, "[]\n[]\n")
            assert not (tmp_path / "state" / "machines").exists()

    run(story())


LOOKING_RUNNER = """
import asyncio, sys
from contextlib import suppress
from pathlib import Path
from fairlead.real_runner import open_runner
from fairlead.settings import load_settings

def listening():
    own = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            own.add(str(path.readlink()))
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for row in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = row.split()[:10]
            if f"socket:[{inode}]" in own and (state == "0A" or table.startswith("udp")):
                yield local

async def main():
    async with open_runner(load_settings()) as runner:
        running = asyncio.create_task(runner.run())
        while not Path(sys.argv[1]).exists():
            await asyncio.sleep(0.05)
        print("listens on", list(listening()))
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        print("it would be seen:", len(list(listening())))
        running.cancel()

asyncio.run(main())
"""
"""A runner that says, once a file is there, on which addresses it waits for connections. From outside nobody can look:
a runner hides its open files."""


@pytest.mark.req("H1")
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the system does not tell who listens")
def test_nothing_listens_on_a_runner(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            await here.add("gpu")
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", LOOKING_RUNNER, str(here.gate("look"))),
                env=here.runner_environment("gpu"),
                stdout=asyncio.subprocess.PIPE,
            )
            try:
                await here.presence("gpu", is_there=True)
                await here.ask(requests.ProjectAdd(f"gpu:{tmp_path / 'gpu-project'}"))
                assert (await here.end_of(await here.say("gpu", "this is one"))).state == "success"
                here.gate("look").touch()
                assert process.stdout is not None
                assert await process.stdout.read() == b"listens on []\nit would be seen: 1\n"
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    run(story())
