"""The served document against the served API: schemathesis makes up requests and holds every answer to its word."""

import asyncio
import re
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks

from fairlead.app import Daemon, run_daemon
from fairlead.channels.http.routes import endpoints
from fairlead.core.commands import COMMANDS
from tests.channels.harness import run_daemon_in, settings_in

EXAMPLES = 6
_RUN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)
_LEFT_OUT = [
    checks.positive_data_acceptance,  # which ids and names are taken, no schema can say
]


class DaemonInAThread:
    """schemathesis is not async: the daemon lives in a thread of its own meanwhile."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()))

    def start(self) -> Daemon:
        self._thread.start()
        assert self._is_up.wait(20), "the daemon did not come up"
        return self._daemon

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(20)

    async def _live(self) -> None:
        async with run_daemon(settings_in(self._directory)) as self._daemon:
            self._loop = asyncio.get_running_loop()
            self._leave = asyncio.Event()
            self._is_up.set()
            await self._leave.wait()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    running = DaemonInAThread(tmp_path_factory.mktemp("home"))
    yield running.start()
    running.stop()


@pytest.mark.req("C5")
def test_every_answer_is_as_the_document_says(daemon: Daemon):
    headers = {"Authorization": f"Bearer {daemon.token}"}
    schema = schemathesis.openapi.from_url(f"{daemon.http_url}/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    for operation in operations:

        @_RUN
        @given(operation.as_strategy())
        def holds(case: schemathesis.Case) -> None:
            case.call_and_validate(headers=headers, excluded_checks=_LEFT_OUT, timeout=10)

        holds()
    tried = {(operation.method.upper(), operation.path) for operation in operations}
    assert tried == {(endpoint.method, endpoint.path) for endpoint in endpoints(COMMANDS)}


@pytest.mark.anyio
@pytest.mark.req("C5")
async def test_the_document_names_every_path_and_resolves_every_reference(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, document = await daemon.get("/openapi.json", headers={"Authorization": ""})
    assert status == 200
    assert document["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert described == {(endpoint.method, endpoint.path) for endpoint in endpoints(COMMANDS)}
    references = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert references <= set(document["components"]["schemas"])
    operations = [item[method]["operationId"] for item in document["paths"].values() for method in item]
    assert len(set(operations)) == len(operations)
    assert [server["url"] for server in document["servers"]] == ["/"]
    tags = {tag["name"] for tag in document["tags"]}
    assert {tag for item in document["paths"].values() for each in item.values() for tag in each["tags"]} == tags
