"""The switches of the scripted ACP agent: what it offers, how it starts, what it keeps. Processes of their own."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import scripted_acp
from tests.support.scripted_acp.orders import ALONE, WITH_REST
from tests.support.scripted_acp.raw_client import RawClient, choose, kinds_in, running, words_in
from tests.support.scripted_acp.shim import read_notes, write_shim
from tests.support.scripted_acp.switches import DEFAULTS


def bare(directory: Path, **switches: Any) -> Path:
    return write_shim(directory / "bin", bare=True, state=directory / "state", **switches)


def load(client: RawClient, session: str, method: str = "session/load") -> dict[str, Any]:
    return client.call(method, sessionId=session, cwd="/tmp", mcpServers=[])


def test_every_order_and_every_switch_is_documented():
    described = str(scripted_acp.__doc__)

    assert [word for word in WITH_REST if f"{word}:" not in described] == []
    assert [word for word in ALONE if not re.search(rf"\b{word}\b", described)] == []
    assert [switch for switch in DEFAULTS if not re.search(rf"\b{switch}\b", described)] == []


def test_a_misspelt_switch_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="no switch usages"):
        write_shim(tmp_path, usages="none")
    with pytest.raises(ValueError, match="cannot be like cloude"):
        write_shim(tmp_path, like="cloude")


def test_it_notes_how_it_was_started_and_every_message(tmp_path: Path):
    notes = tmp_path / "notes"
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "MINE": "1"}
    with running(bare(tmp_path, notes=notes), "--acp", cwd=tmp_path, env=environment) as client:
        client.answer["session/request_permission"] = choose("once")
        client.initialize()
        session = client.new_session("/srv")
        client.say(session, "ask: rm a")
        client.notify("session/cancel", sessionId=session)
        client.end_stdin()
        assert client.process.wait(30) == 0

    [start] = read_notes(notes, "start")
    assert (start["argv"], start["cwd"], start["pid"]) == (["--acp"], str(tmp_path), client.process.pid)
    assert start["environment"].items() >= {"HOME": str(tmp_path), "MINE": "1"}.items()
    assert "PYTHONPATH" not in start["environment"]
    assert read_notes(notes, "request", "session/new")[0]["params"] == {"cwd": "/srv", "mcpServers": []}
    assert read_notes(notes, "response")[0]["result"]["outcome"]["optionId"] == "once"
    assert read_notes(notes)[-2]["method"] == "session/cancel"
    assert read_notes(notes)[-1]["reason"] == "end of stdin"


def test_it_prints_its_version(tmp_path: Path):
    shim = bare(tmp_path, version="4.5.6")
    assert subprocess.run([shim, "--version"], capture_output=True, check=True).stdout == b"4.5.6\n"


def test_it_speaks_another_version_of_the_protocol(tmp_path: Path):
    with running(bare(tmp_path, protocol=2)) as client:
        assert client.initialize()["result"]["protocolVersion"] == 2


@pytest.mark.parametrize("when", [{"initialize": "exits"}, {"on": {"start": "exits"}}])
def test_it_exits_at_once_with_a_code_and_words(tmp_path: Path, when: dict[str, Any]):
    with running(bare(tmp_path, exit_code=7, stderr="no licence", **when)) as client:
        client.begin("initialize", protocolVersion=1)
        assert client.process.wait(30) == 7
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b"no licence\n"


def test_initialize_fails_or_is_never_answered(tmp_path: Path):
    with running(bare(tmp_path, initialize="error")) as client:
        assert client.initialize()["error"]["code"] == -32603
    with running(bare(tmp_path, initialize="hangs")) as client:
        request = client.begin("initialize", protocolVersion=1)
        client.new_session()
        assert request not in client.responses


def test_any_request_fails_hangs_or_is_held(tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    told = {"session/load": "error -32001 nothing here", "session/list": "hangs", "session/new": f"hold {tmp_path}/go"}
    with running(bare(tmp_path, on=told)) as client:
        assert load(client, "x")["error"] == {"code": -32001, "message": "nothing here"}
        hanging = client.begin("session/list")
        held = client.begin("session/new", cwd="/tmp", mcpServers=[])
        with (tmp_path / "go").open("w"):
            client.initialize()
            assert not client.responses.keys() & {hanging, held}
        assert client.response_to(held)["result"]["sessionId"]


def test_it_asks_for_a_login(tmp_path: Path):
    with running(bare(tmp_path, auth="required", login=tmp_path / "login")) as client:
        [method] = client.initialize()["result"]["authMethods"]
        assert (method["type"], method["args"]) == ("terminal", ["login"])
        refused = client.call("session/new", cwd="/tmp", mcpServers=[])["error"]
        assert (refused["code"], refused["message"]) == (-32000, "Authentication required")

        (tmp_path / "login").touch()
        assert client.new_session()
    (tmp_path / "login").unlink()
    with running(bare(tmp_path, auth="required")) as client:
        client.call("authenticate", methodId="login")
        assert client.new_session()


def test_it_offers_what_it_is_told_and_refuses_the_rest(tmp_path: Path):
    with running(bare(tmp_path, capabilities="load,audio", settings="none")) as client:
        result = client.initialize()["result"]
        session = client.call("session/new", cwd="/tmp", mcpServers=[])["result"]

        assert result["agentCapabilities"]["promptCapabilities"] == {
            "image": False,
            "audio": True,
            "embeddedContext": False,
        }
        assert "sessionCapabilities" not in result["agentCapabilities"]
        assert result["_meta"]["steering"] == {"supported": False}
        assert session.keys() == {"sessionId"}
        for method in ("session/resume", "session/fork", "session/list", "session/close", "_session/steering"):
            assert client.call(method, **session, cwd="/tmp", prompt=[])["error"]["code"] == -32601
        for method in ("session/set_model", "session/set_mode", "session/set_config_option"):
            values = {"modelId": "x", "modeId": "x", "configId": "x", "value": "x"}
            assert client.call(method, **session, **values)["error"]["code"] == -32601


def test_another_process_loads_the_session_and_replays_it(tmp_path: Path):
    shim = write_shim(tmp_path / "bin", bare=True)
    with running(shim, env=os.environ | {"HOME": str(tmp_path)}) as first:
        session = first.new_session()
        first.say(session, "my name is Ada\ntool: execute ls")
        first.call("session/set_mode", sessionId=session, modeId="plan")
    with running(shim, env=os.environ | {"HOME": str(tmp_path)}) as second:
        response = load(second, session)

        said, answered, *tool = second.updates(session)
        assert response["result"]["modes"]["currentModeId"] == "plan"
        assert said["sessionUpdate"] == "user_message_chunk"
        assert said["content"]["text"] == "my name is Ada\ntool: execute ls"
        assert answered["content"]["text"] == "You said: my name is Ada"
        assert kinds_in(tool) == ["tool_call", "tool_call_update"]
        assert second.say(session, "what is my name?") == "Your name is Ada."
        assert load(second, "nobody")["error"]["code"] == -32002


def test_the_replay_comes_after_the_response_or_not_at_all(tmp_path: Path):
    with running(bare(tmp_path, replay="after")) as client:
        session = client.new_session()
        client.say(session, "hello")
        load(client, session)
        assert client.updates(session) == []
        client.until_update("available_commands_update")
        assert kinds_in(client.updates(session)) == [
            "user_message_chunk",
            "agent_message_chunk",
            "available_commands_update",
        ]
    with running(bare(tmp_path, replay="none")) as client:
        load(client, session)
        assert client.updates(session) == []


def test_a_resumed_session_replays_as_much_as_it_is_told(tmp_path: Path):
    with running(bare(tmp_path, resume_replays=1)) as client:
        session = client.new_session()
        client.say(session, "hello")
        assert load(client, session, "session/resume")["result"]
        assert words_in(client.updates(session)) == ""
        client.until_update("available_commands_update")


def test_a_killed_process_leaves_nothing_to_load_but_one_that_ended_does(tmp_path: Path):
    shim = bare(tmp_path, like="gemini", lost_when_killed=True)
    with running(shim) as killed:
        session = killed.new_session()
        killed.say(session, "my name is Ada")
        killed.process.kill()
    with running(shim) as client:
        refused = load(client, session)["error"]
        assert refused["code"] == -32603
        assert "No previous sessions found" in refused["message"]
        session = client.new_session()
        client.say(session, "my name is Ada")
        client.end_stdin()
        assert client.process.wait(30) == 0
    with running(shim) as client:
        load(client, session)
        client.until_update("available_commands_update")  # the replay has come
        assert client.say(session, "what is my name?") == "Your name is Ada."


def test_a_cancelled_turn_ends_with_another_reason_or_an_error(tmp_path: Path):
    for told, outcome in (("end_turn", {"stopReason": "end_turn"}), ("error -32800 Aborted", None)):
        with running(bare(tmp_path, cancelled=told)) as client:
            session = client.new_session()
            request = client.begin_prompt(session, "say: on\nhang")
            client.until_update("agent_message_chunk")
            client.notify("session/cancel", sessionId=session)
            response = client.response_to(request)
            assert response.get("result") == outcome
            assert outcome or response["error"] == {"code": -32800, "message": "Aborted"}


def test_a_second_prompt_is_refused(tmp_path: Path):
    with running(bare(tmp_path, second_prompt="error")) as client:
        session = client.new_session()
        client.begin_prompt(session, "say: on\nhang")
        client.until_update("agent_message_chunk")
        assert client.prompt(session, "hello")["error"]["code"] == -32600


def test_it_ignores_signals_and_the_end_of_stdin(tmp_path: Path):
    with running(bare(tmp_path, ignore="INT,TERM,EOF")) as client:
        session = client.new_session()
        client.process.send_signal(signal.SIGTERM)
        client.process.send_signal(signal.SIGINT)
        assert client.say(session, "hello") == "You said: hello"
        os.mkfifo(tmp_path / "go")
        client.begin_prompt(session, f"hold: {tmp_path / 'go'}\nsay: still here")
        with (tmp_path / "go").open("w"):
            client.end_stdin()
        client.until_update("agent_message_chunk")
        assert client.process.poll() is None
