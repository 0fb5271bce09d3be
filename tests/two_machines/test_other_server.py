"""A NATS server that somebody else runs: Fairlead is given its address, and its operator the accounts."""

import asyncio
import shutil
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.core import requests
from fairlead.nats_wire.owned_server import find_server_program
from tests.two_machines.harness import Site, run, site
from tests.two_machines.test_command_line import typed


class OtherSite(Site):
    def daemon_environment(self) -> dict[str, str]:
        owned = super().daemon_environment()
        return {
            **{name: value for name, value in owned.items() if name != "FAIRLEAD_MACHINES_LISTEN"},
            "FAIRLEAD_NATS_URL": f"nats://127.0.0.1:{self.nats_port}",
        }


def write_config(here: Site) -> Path:
    """As its operator does it: the accounts that Fairlead wrote, in a configuration of the operator's own."""
    shutil.copy(here.accounts_file, here.home / "fairlead.conf")
    path = here.home / "operator.conf"
    path.write_text(
        f'listen: "127.0.0.1:{here.nats_port}"\n'
        f'jetstream {{ store_dir: "{here.home / "operator-store"}" }}\n'
        "accounts {\n  include ./fairlead.conf\n}\n"
    )
    return path


@asynccontextmanager
async def operators_server(here: Site):
    program = find_server_program()
    assert program is not None
    with (here.home / "operator.out").open("ab") as said:
        server = await asyncio.create_subprocess_exec(program, "-c", str(write_config(here)), stdout=said, stderr=said)
    try:
        yield server
    finally:
        server.kill()
        await server.wait()


async def until_reloaded(here: Site, times: int) -> None:
    while (here.home / "operator.out").read_text().count("Reloaded server configuration") < times:
        await asyncio.sleep(0.05)


@pytest.mark.req("H1")
def test_a_server_that_is_there_already_is_used_with_the_accounts_that_its_operator_adds(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path, OtherSite) as here:
            await here.start_daemon()
            async with operators_server(here) as server:
                code, said = await typed(here, here.daemon_environment(), "machine", "add", "gpu")
                assert code == 0, said
                how, line = said.splitlines()
                assert f"{tmp_path}/state/machines/accounts.conf" in how
                write_config(here)
                for times in (1, 2):
                    server.send_signal(signal.SIGHUP)
                    await until_reloaded(here, times)
                (tmp_path / "gpu").mkdir(mode=0o700)
                (tmp_path / "gpu-project").mkdir()
                code, said = await typed(here, here.runner_environment("gpu"), *line.split()[1:])
                assert code == 0, said
                await here.start_runner("gpu")
                await here.presence("gpu", is_there=True)
                await here.ask(requests.ProjectAdd(f"gpu:{tmp_path / 'gpu-project'}"))
                job = await here.end_of(await here.say("gpu", "this is one"))
                assert (job.state, job.answer, job.machine) == ("success", "this is one", "gpu")
                _, said = await typed(here, here.daemon_environment(), "doctor")
                assert f"machines   ok   nats://127.0.0.1:{here.nats_port} answers." in said
                assert not (tmp_path / "state" / "machines" / "server.json").exists()  # no server of its own

    run(story())
