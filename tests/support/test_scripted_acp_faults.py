"""The faults of the scripted ACP agent are really there."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scripted_acp.raw_client import RawClient, running, words_in
from tests.support.scripted_acp.shim import read_notes, write_shim
from tests.support.scripted_acp.wire import GARBAGE


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    with running(write_shim(tmp_path / "bin", bare=True, state=tmp_path / "state", notes=tmp_path / "notes")) as client:
        yield client


def test_garbage_comes_between_the_lines(client: RawClient):
    session = client.new_session()

    assert client.say(session, "say: one\ngarbage\nsay: two") == "onetwo"
    assert client.responses.keys() == {987654, "nobody"}
    assert len(client.garbage) + 2 == len(GARBAGE)
    assert b"[]\n" in client.garbage
    assert b"\xff\xfe\x00\n" in client.garbage


def test_garbage_comes_before_each_line(tmp_path: Path):
    with running(write_shim(tmp_path, bare=True, state=tmp_path / "state", garbage=True)) as client:
        assert client.initialize()["result"]["protocolVersion"] == 1
        assert b"not json\n" in client.garbage


def test_a_line_is_sent_as_it_stands(client: RawClient, tmp_path: Path):
    session = client.new_session()
    request = {"jsonrpc": "2.0", "id": "mine", "method": "craft/dance", "params": {"sessionId": "SESSION"}}
    client.say(session, f"raw: {json.dumps(request)}\nsay: done")

    client.call("session/nothing")
    assert [note["error"]["code"] for note in read_notes(tmp_path / "notes", "response")] == [-32601]
    assert any(message.get("params") == {"sessionId": session} for message in client.heard)


def test_a_flood_comes_whole_and_in_order(client: RawClient):
    session = client.new_session()
    client.updates(session)

    client.prompt(session, "flood: 20000")
    assert words_in(client.updates(session)) == "".join(f"w{number} " for number in range(20_000))


def test_a_flood_stops_when_it_is_cancelled(client: RawClient):
    session = client.new_session()
    request = client.begin_prompt(session, "flood: 100000000 thought")
    client.until_update("agent_thought_chunk")
    client.notify("session/cancel", sessionId=session)

    assert client.response_to(request)["result"]["stopReason"] == "cancelled"


@pytest.mark.parametrize("kind", ["", " tool"])
def test_one_line_has_so_many_megabytes(tmp_path: Path, kind: str):
    shim = write_shim(tmp_path, bare=True, state=tmp_path / "state")
    with running(shim) as client:
        client.prompt(client.new_session(), f"big: 5{kind}")
        assert max(len(json.dumps(message)) for message in client.heard) == 5_000_000 - 1  # and the end of the line


def test_it_exits_in_the_middle_of_a_turn(client: RawClient):
    client.begin_prompt(client.new_session(), "say: one\nexit: 3 out of memory")

    assert client.process.wait(30) == 3
    assert client.process.stderr is not None
    assert client.process.stderr.read() == b"out of memory\n"


def test_it_ends_in_the_middle_of_a_line(client: RawClient):
    client.begin_prompt(client.new_session(), "say: one\ncut: 4")

    with pytest.raises(EOFError):
        client.until(lambda message: "result" in message)
    assert client.garbage[-1].endswith(b"\xc3")
    assert client.process.wait(30) == 4


def test_it_closes_stdout_and_stays(client: RawClient):
    client.begin_prompt(client.new_session(), "close-stdout\nhang")

    with pytest.raises(EOFError, match="It still runs"):
        client.until(lambda message: "result" in message)


def test_it_stops_reading(client: RawClient, tmp_path: Path):
    session = client.new_session()
    os.mkfifo(tmp_path / "go")
    request = client.begin_prompt(session, f"deaf\nhold: {tmp_path / 'go'}\nsay: deaf now")
    with (tmp_path / "go").open("w"):
        client.notify("session/cancel", sessionId=session)

    assert client.response_to(request)["result"]["stopReason"] == "end_turn"
    assert read_notes(tmp_path / "notes", "notification") == []


def test_a_grandchild_outlives_the_agent(client: RawClient):
    words = client.say(client.new_session(), "grandchild")
    pid = int(words.removeprefix("grandchild "))
    client.process.kill()
    client.process.wait(30)
    try:
        os.kill(pid, 0)
        assert os.getsid(pid) == pid
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_grandchild_is_left_at_the_start(tmp_path: Path):
    with running(write_shim(tmp_path, bare=True, grandchild="holds-stdout")) as client:
        assert client.process.stderr is not None
        pid = int(client.process.stderr.readline().removeprefix(b"grandchild "))
        client.end_stdin()
        assert client.process.wait(30) == 0
        try:
            assert os.getsid(pid) == pid
        finally:
            os.kill(pid, signal.SIGKILL)


def test_a_fault_of_the_script_is_seen_by_the_test(client: RawClient):
    error = client.prompt(client.new_session(), "ask: [nonsense] rm a")["error"]

    assert error["message"] == "The scripted agent failed"
    assert "no set of options is called nonsense" in error["data"]["details"]


def test_stdin_that_is_no_json_is_told(client: RawClient):
    assert client.process.stdin is not None
    client.process.stdin.write(b"not json\n\n")
    client.process.stdin.flush()

    assert client.read()["error"]["code"] == -32700
    assert client.initialize()["result"]
