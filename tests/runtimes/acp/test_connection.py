"""The conversation on the official SDK: what is sent, what is refused, and when the SDK is loaded at all."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from fairlead.kit.processes import OwnedProcess
from fairlead.runtimes.acp.connection import AcpConnection
from fairlead.runtimes.acp.transport import AgentTransport
from fairlead.runtimes.acp.turn_ends import AgentRefused
from tests.runtimes.acp.harness import AcpStage, FakePipes, Heard, Talk
from tests.support.runtime_contract import closing

pytestmark = pytest.mark.req("B4")


def test_a_daemon_without_an_acp_agent_never_loads_the_sdk():
    """It takes more than a second and 34 MB."""
    program = "import sys, fairlead.real_machine, fairlead.runtimes.acp.runtime; print('acp' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=300)
    assert printed.stdout == "False\n"


FIRST_USE = """
import asyncio, sys, threading
from pathlib import Path
from tests.runtimes.acp.harness import AcpStage, Talk
import fairlead.runtimes.acp.program as program

loaded_in = []
import_module = program.import_module
def watch(name):
    loaded_in.append(threading.current_thread() is threading.main_thread())
    return import_module(name)
program.import_module = watch

async def main():
    stage = AcpStage(Path(sys.argv[1]))
    runtime = stage.runtime()
    assert "acp" not in sys.modules, "a runtime alone loads nothing"
    print(await Talk(stage, runtime).answer("hello"))
    await runtime.aclose()
    print("acp" in sys.modules, loaded_in)

asyncio.run(main())
"""


def test_the_first_turn_loads_the_sdk_and_not_in_the_thread_of_the_loop(tmp_path: Path):
    printed = subprocess.run(
        [sys.executable, "-c", FIRST_USE, str(tmp_path)], capture_output=True, check=True, text=True, timeout=300
    )
    assert printed.stdout.splitlines() == ["You said: hello", "True [False]"]


def connected(pipes: FakePipes, heard: Heard) -> AcpConnection:
    async def refuse(_: Any) -> dict[str, Any]:
        return {}

    return AcpConnection(AgentTransport(cast("OwnedProcess", pipes), heard), on_permission=refuse, on_form=refuse)


@pytest.mark.anyio
async def test_version_one_is_offered_with_forms_and_without_files_and_terminals():
    pipes = FakePipes()
    connection = connected(pipes, Heard())
    asking = asyncio.create_task(connection.initialize())
    sent = await pipes.until_written(lambda message: message.get("method") == "initialize")
    params = sent["params"]
    assert params["protocolVersion"] == 1
    assert params["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert not params["clientCapabilities"].get("terminal")
    assert params["clientInfo"]["name"] == "fairlead"
    pipes.print({"id": sent["id"], "result": {"protocolVersion": 3, "unknown": [1]}})
    assert (await asking).protocol_version == 3
    await connection.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"code": -32603, "message": "Internal error"}, "Internal error"),
        ({"code": -32603, "message": "Internal error", "data": {"details": "no room"}}, "Internal error: no room"),
        ({"code": -32603, "message": "Internal error", "data": {"message": "no room"}}, "Internal error: no room"),
        ({"code": -32603, "message": "Internal error", "data": "no room"}, "Internal error: no room"),
        ({"code": -32603, "message": "no room at all", "data": "no room"}, "no room at all"),
        ({"code": -32603, "message": "Internal error", "data": {"a": 1}}, 'Internal error: {"a":1}'),
    ],
)
async def test_an_error_of_the_agent_is_told_with_what_its_data_add(error: dict[str, Any], words: str):
    pipes = FakePipes()
    connection = connected(pipes, Heard())
    asking = asyncio.create_task(connection.new_session("/srv"))
    sent = await pipes.until_written(lambda message: message.get("method") == "session/new")
    pipes.print({"id": sent["id"], "error": error})
    with pytest.raises(AgentRefused) as refusal:
        await asking
    assert (refusal.value.code, refusal.value.words) == (-32603, words)
    await connection.close()


@pytest.mark.anyio
@pytest.mark.parametrize("result", [[], "text", 5, {"sessionId": 5}, {"modes": []}])
async def test_a_response_of_an_unknown_shape_is_a_refusal_that_says_so(result: Any):
    pipes = FakePipes()
    connection = connected(pipes, Heard())
    asking = asyncio.create_task(connection.new_session("/srv"))
    sent = await pipes.until_written(lambda message: message.get("method") == "session/new")
    pipes.print({"id": sent["id"], "result": result})
    with pytest.raises(AgentRefused, match="session/new has an unknown format"):
        await asking
    await connection.close()


@pytest.mark.anyio
async def test_the_agent_speaks_through_the_sdk_as_well(tmp_path: Path):
    """The scripted agent on the SDK's own agent side, which checks every message both ways."""
    stage = AcpStage(tmp_path, bare=False)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert await talk.answer("my name is Bob\ntool: execute ls", model="scripted-2") == "You said: my name is Bob"
        assert await talk.answer("ask: execute rm a") == "Chose once"
        await runtime.end_session("s", "stop")
        assert await talk.answer("what is my name?") == "Your name is Bob."
