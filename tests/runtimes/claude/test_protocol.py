"""Claude's lines over the pipe: whose turn they belong to, and what is sent back."""

import json
from typing import Any

import pytest

from fairlead.core.engine import (
    PermissionRequested,
    RequestWithdrawn,
    Response,
    TextDelta,
    TurnEnded,
    UsageReported,
)
from fairlead.runtimes.claude.protocol import ClaudeProtocol
from tests.support.runtime_contract import only

pytestmark = [pytest.mark.anyio, pytest.mark.req("E7")]


def line(**event: Any) -> bytes:
    return json.dumps(event).encode()


def text(words: str, **more: Any) -> bytes:
    return line(type="assistant", message={"content": [{"type": "text", "text": words}]}, **more)


def result(words: str, **more: Any) -> bytes:
    return line(type="result", subtype="success", result=words, **more)


def test_only_the_result_that_names_the_prompt_ends_the_job():
    protocol = ClaudeProtocol("key")
    protocol.begin("p1")
    own = [
        protocol.receive(text("background news")),
        protocol.receive(result("news", origin={"kind": "task-notification"})),
    ]
    protocol.receive(line(type="command_lifecycle", command_uuid="p1", state="started"))
    late = protocol.receive(result("of an older job", user_message_uuid="p0"))
    said = protocol.receive(text("the answer", user_message_uuid="p1"))
    ended = protocol.receive(result("the answer", user_message_uuid="p1"))

    assert [received.job for received in own] == [[], []]
    assert own[0].agent_turn == [TextDelta("background news")]
    assert isinstance(own[1].agent_turn[-1], TurnEnded)
    assert late.job == late.agent_turn == []
    assert said.job == [TextDelta("the answer")]
    assert ended.job[-1] == TurnEnded("the answer", "success")


def test_what_comes_when_no_job_runs_is_unasked():
    protocol = ClaudeProtocol("key", "t-")
    received = protocol.receive(text("a sub-agent reported"))
    assert received.agent_turn == [TextDelta("a sub-agent reported")]
    assert protocol.agent_turn_id == "t-1"
    assert protocol.has_work_of_its_own


def test_background_tasks_keep_it_from_being_idle():
    protocol = ClaudeProtocol("key")
    protocol.receive(line(type="system", subtype="background_tasks_changed", tasks=[{"task_id": "1"}]))
    assert protocol.has_work_of_its_own
    protocol.receive(line(type="system", subtype="background_tasks_changed", tasks=[]))
    assert not protocol.has_work_of_its_own


def ask(request_id: str, command: str) -> bytes:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}}
    return line(type="control_request", request_id=request_id, request=request)


def test_a_rule_covers_the_very_same_command_only():
    protocol = ClaudeProtocol("key")
    protocol.begin("p", ("Bash(make test)",))
    protocol.receive(line(type="command_lifecycle", command_uuid="p", state="started"))
    covered, other = protocol.receive(ask("r1", "make test")), protocol.receive(ask("r2", "make test; rm -rf /"))

    assert covered.job == []
    assert json.loads(covered.reply[0])["response"]["response"]["behavior"] == "allow"
    assert isinstance(other.job[0], PermissionRequested)
    assert other.reply == []


def test_an_older_claude_that_only_counts_the_whole_talk_is_not_billed_twice():
    def spent(protocol: ClaudeProtocol, prompt: str, total: float) -> float:
        protocol.begin(prompt)
        received = protocol.receive(
            line(type="result", subtype="success", result="ok", user_message_uuid=prompt, total_cost_usd=total)
        )
        return only(UsageReported, received.job)[0].cost_usd

    new, resumed = ClaudeProtocol("key"), ClaudeProtocol("key", spent=None)
    assert [spent(new, "a", 0.25), spent(new, "b", 0.75), spent(new, "c", 0.75)] == [0.25, 0.5, 0.0]
    assert [spent(resumed, "a", 5.0), spent(resumed, "b", 5.5)] == [0.0, 0.5]


def test_an_answer_counts_once_and_a_withdrawn_request_not_at_all():
    protocol = ClaudeProtocol("key")
    protocol.begin("p")
    protocol.receive(line(type="command_lifecycle", command_uuid="p", state="started"))
    protocol.receive(ask("r1", "a"))
    protocol.receive(ask("r2", "b"))
    assert protocol.is_waiting
    withdrawn = protocol.receive(line(type="control_cancel_request", request_id="r2"))

    assert withdrawn.job == [RequestWithdrawn("r2")]
    assert protocol.write_response(Response(request_id="r2", verdict="allow")) is None
    assert protocol.write_response(Response(request_id="r1", verdict="deny", message="no")) is not None
    assert protocol.write_response(Response(request_id="r1", verdict="allow")) is None
    assert not protocol.is_waiting
    assert not protocol.has_been_granted


def test_a_request_that_we_do_not_know_is_answered_so_that_nobody_waits():
    received = ClaudeProtocol("key").receive(
        line(type="control_request", request_id="r", request={"subtype": "hook_callback"})
    )
    assert json.loads(received.reply[0])["response"]["subtype"] == "error"
