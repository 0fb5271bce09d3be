"""A NATS server, or a cluster, that somebody else runs (FAIRLEAD_NATS_URL), with its own configuration and operator."""

import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fairlead.core import requests
from tests.nats_wire.harness import free_port
from tests.two_machines.harness import Site, run, site
from tests.two_machines.operator_server import OperatorServer, operator_server
from tests.two_machines.test_command_line import typed


def use(here: Site, urls: str, certificate: Path) -> None:
    """Daemon and runner trust what the system trusts; here that is the operator's certificate."""
    here.base["SSL_CERT_FILE"] = str(certificate)
    here.more = {"FAIRLEAD_NATS_URL": urls}


@pytest.mark.req("H1", "H7")
@pytest.mark.parametrize("scheme", ["tls", "wss", "nats"])
def test_a_job_runs_over_a_server_that_somebody_else_runs(tmp_path: Path, scheme: str):
    async def story() -> None:
        async with operator_server(tmp_path / "operator", tls=scheme == "tls") as server, site(tmp_path) as here:
            use(here, server.url(scheme), server.certificate)
            here.give_accounts = server.take_accounts
            await here.start_daemon()
            await here.give_accounts(here.accounts_file)
            await here.bring_up("gpu")
            job = await here.end_of(await here.say("gpu", "this is one"))
            assert (job.state, job.answer) == ("success", "this is one")
            await here.ask(requests.MachineRemove("gpu"))
            await here.until(lambda: here.accounts_file.read_text().count("nkey") == 1)

    run(story())


@pytest.mark.req("H1")
def test_the_daemon_waits_for_a_server_that_comes_later_and_tells_the_operator_what_to_add(tmp_path: Path):
    async def story() -> None:
        async with AsyncExitStack() as stack:
            here = await stack.enter_async_context(site(tmp_path))
            server = OperatorServer(tmp_path / "operator")
            server.write_config(tls=False)
            use(here, server.url("nats"), server.certificate)
            await here.start_daemon()
            await server.start()
            stack.push_async_callback(server.end)
            code, said = await typed(here, here.daemon_environment(), "machine", "add", "gpu")
            assert code == 0, said
            how, line = said.splitlines()
            assert str(here.accounts_file) in how
            await server.take_accounts(here.accounts_file)
            for directory in ("gpu", "gpu-project"):
                (tmp_path / directory).mkdir(mode=0o700)
            code, said = await typed(here, here.runner_environment("gpu"), *line.split()[1:])
            assert code == 0, said
            await here.start_runner("gpu")
            await here.presence("gpu", is_there=True)
            await here.ask(requests.ProjectAdd(f"gpu:{tmp_path / 'gpu-project'}"))
            job = await here.end_of(await here.say("gpu", "this is one"))
            assert (job.state, job.answer, job.machine) == ("success", "this is one", "gpu")
            _, said = await typed(here, here.daemon_environment(), "doctor")
            assert f"machines   ok   {server.url('nats')} answers." in said
            assert not (tmp_path / "state" / "machines" / "server.json").exists()  # no server of its own

    run(story())


@pytest.mark.req("H1", "H6")
def test_a_cluster_goes_on_when_the_server_of_a_runner_dies(tmp_path: Path):
    async def story() -> None:
        ports = [free_port() for _ in range(3)]
        async with AsyncExitStack() as stack:
            servers: list[OperatorServer] = []
            for number, port in enumerate(ports):
                server = OperatorServer(
                    tmp_path / f"operator-{number}", name=f"n{number}", routes=tuple(ports), cluster_port=port
                )
                server.write_config(tls=False)
                await server.start()
                stack.push_async_callback(server.end)
                servers.append(server)
            here = await stack.enter_async_context(site(tmp_path))
            use(here, ",".join(server.url("nats") for server in servers), servers[0].certificate)

            async def give_all(file: Path) -> None:
                for server in servers:
                    await server.take_accounts(file)

            here.give_accounts = give_all
            await here.start_daemon()
            await give_all(here.accounts_file)
            await here.bring_up("gpu")
            assert (await here.end_of(await here.say("gpu", "this is one"))).state == "success"
            for server in servers:
                await server.end()
                await server.start()
                job = await here.end_of(await here.say("gpu", f"this is after-{server.port}"))
                assert job.state == "success"

    run(story())


@pytest.mark.req("H5")
def test_of_two_daemons_with_copies_of_one_state_the_first_gives_no_orders_any_more(tmp_path: Path):
    async def story() -> None:
        async with operator_server(tmp_path / "operator", tls=False) as server, site(tmp_path) as here:
            use(here, server.url("nats"), server.certificate)
            here.give_accounts = server.take_accounts
            first = await here.start_daemon()
            await here.give_accounts(here.accounts_file)
            await here.bring_up("gpu")
            assert (await here.end_of(await here.say("gpu", "this is one"))).state == "success"
            shutil.copytree(tmp_path / "state", tmp_path / "copy", ignore=shutil.ignore_patterns("lock"))
            here.more |= {"STATE_DIR": str(tmp_path / "copy"), "FAIRLEAD_HTTP_PORT": str(free_port())}
            await here.start("second", here.daemon_environment(), "up", "--no-chat")
            await here.until(lambda: "no orders are given to other machines" in first.said.read_text())
            waiting = await here.say("gpu", "this is two")
            row = await here.machine("gpu")
            assert (row.is_there, bool(row.problem)) == (False, True)
            assert (await here.job(waiting)).state == "queued"
            assert here.prompts() == ["one"]

    run(story())
