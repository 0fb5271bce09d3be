"""A NATS server, or a cluster, that somebody else runs (FAIRLEAD_NATS_URL), with its own configuration and operator."""

import json
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fairlead.core import requests
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import connect
from fairlead.nats_wire.subjects import CLAIMS_STREAM
from tests.nats_wire.cable import BOTH, Direction, cable_to
from tests.nats_wire.harness import free_port
from tests.two_machines.clocks import MINUTE, MovedClock
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


@pytest.mark.req("H1", "H6", "H7")
def test_two_fairleads_share_a_server_and_neither_notices_the_other(tmp_path: Path):
    """Both call their machine `gpu`. The operator includes the accounts of each beside those of others."""

    async def story() -> None:
        async with operator_server(tmp_path / "operator", tls=False) as server, AsyncExitStack() as stack:
            both = [await stack.enter_async_context(site(make_home(tmp_path, name))) for name in ("one", "other")]
            for here in both:
                use(here, server.url("nats"), server.certificate)
                here.give_accounts = server.take_accounts
                await here.start_daemon()
                await here.give_accounts(here.accounts_file)
                await here.bring_up("gpu")
            one, other = both
            streams = [await list_streams(here, server) for here in both]
            assert [len(names) for names in streams] == [4, 4]
            assert streams[0] & streams[1] == {CLAIMS_STREAM}  # the same name, in an account of its own
            jobs = [await here.say("gpu", f"this is {here.home.name}\nuntil {here.gate('one')}") for here in both]
            for here in both:
                await here.until_begun(here.home.name)
            await server.end()
            shutil.rmtree(server.directory / "store")
            await server.start()
            for here, job_id in zip(both, jobs, strict=True):
                here.gate("one").touch()
                assert (await here.end_of(job_id)).answer == f"this is {here.home.name}"
            await one.ask(requests.MachineRemove("gpu"))
            await one.until(lambda: one.accounts_file.read_text().count("nkey") == 1)
            await server.take_accounts(one.accounts_file)
            assert await one.runners["gpu"].process.wait() == 78
            assert (await other.end_of(await other.say("gpu", "this is later"))).state == "success"
            assert (one.prompts(), other.prompts()) == (["one"], ["other", "later"])

    run(story())


def make_home(directory: Path, name: str) -> Path:
    (directory / name).mkdir()
    return directory / name


async def list_streams(here: Site, server: OperatorServer) -> set[str]:
    """All that the daemon's key can see."""
    seed = (here.home / "state" / "machines" / "daemon.nk").read_text().strip()
    async with connect(ServerAddress(urls=(server.url("nats"),), seed=seed), name="operator") as client:
        return set(json.loads((await client.request("$JS.API.STREAM.NAMES", b"")).data)["streams"])


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


@pytest.mark.req("H6", "H8")
@pytest.mark.parametrize("cut", [BOTH, ("to server",), ("to client",)], ids=["both", "to the server", "to the daemon"])
def test_a_daemon_that_is_cut_off_from_its_server_hears_the_end_of_a_turn_once_when_the_cable_is_whole(
    tmp_path: Path, cut: tuple[Direction, ...]
):
    """The runner reaches the server all the time; what is said meanwhile waits."""

    async def story() -> None:
        async with (
            operator_server(tmp_path / "operator", tls=False) as server,
            cable_to(server.port) as cable,
            site(tmp_path) as here,
        ):
            use(here, server.url("nats"), server.certificate)
            here.give_accounts = server.take_accounts
            daemon = await here.start_daemon()
            await here.give_accounts(here.accounts_file)
            await here.bring_up("gpu")
            await daemon.end()
            use(here, f"nats://127.0.0.1:{cable.port}", server.certificate)  # for the daemon alone
            clock = MovedClock(tmp_path / "clock")
            here.launcher = clock.launcher
            daemon = await here.start_daemon()
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            cable.cut(*cut)
            here.gate("one").touch()
            await here.until(lambda: "one" in here.prompts("ended"))
            for _ in range(10):  # long enough for it to give the connection up
                await clock.move(MINUTE, daemon)
            await here.presence("gpu", is_there=False)
            waiting = await here.say("gpu", "this is two")
            cable.mend()
            jobs = [await here.end_of(one) for one in (job_id, waiting)]
            assert [(job.state, job.answer) for job in jobs] == [("success", "this is one"), ("success", "this is two")]
            assert (here.prompts(), len(here.journal("JobCompleted"))) == (["one", "two"], 2)

    run(story())
