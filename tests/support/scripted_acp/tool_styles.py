"""How a tool call shows on the wire, in the sequences that were seen of the real agents."""

from typing import TYPE_CHECKING

from .settings import text_block
from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

_NAMES = {"execute": "Bash", "read": "Read", "edit": "Edit", "search": "Grep", "fetch": "WebFetch"}
REFUSED = "User refused permission to run tool"


class PlainTools:
    """A tool_call under way, and one update that ends it. `call` is what `tools.describe_tool` made."""

    def begin(self, turn: "Turn", call: Payload) -> None:
        turn.update("tool_call", **call, status="in_progress")

    def begin_asked(self, turn: "Turn", call: Payload) -> None:
        """Before a permission is asked for the call."""
        self.begin(turn, call)

    def shown(self, call: Payload) -> Payload:
        """The tool call in the permission request."""
        return call | {"status": "pending", "content": content_of(call["title"])}

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        about = {"toolCallId": call["toolCallId"], "status": status}
        turn.update("tool_call_update", **about, content=content_of(output), rawOutput={"output": output})

    def refuse(self, turn: "Turn", call: Payload) -> None:
        self.end(turn, call, "failed", REFUSED)


class ClaudeTools(PlainTools):
    def begin(self, turn: "Turn", call: Payload) -> None:
        meta = self._meta(call)
        empty = {"toolCallId": call["toolCallId"], "kind": call["kind"], "rawInput": {}, "content": []}
        turn.update("tool_call", **empty, title="Terminal", name=_name(call), status="pending", _meta=meta)
        turn.update("tool_call_update", **call, content=content_of("run a test command"), _meta=meta)

    def shown(self, call: Payload) -> Payload:
        return super().shown(call) | {"name": _name(call)}

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        meta, call_id = self._meta(call), call["toolCallId"]
        response = {"stdout": output, "stderr": "", "interrupted": False}
        said = {"claudeCode": {"toolResponse": response, **meta["claudeCode"]}}
        turn.update("tool_call_update", toolCallId=call_id, _meta=said)
        about = {"toolCallId": call_id, "status": status, "rawOutput": output, "_meta": meta}
        turn.update("tool_call_update", **about, content=content_of(f"```console\n{output}\n```"))

    @staticmethod
    def _meta(call: Payload) -> Payload:
        return {"claudeCode": {"toolName": _name(call)}}


class CodexTools(PlainTools):
    """The output is in `_meta` alone, beside a terminal that the client never made."""

    def begin(self, turn: "Turn", call: Payload) -> None:
        call_id = call["toolCallId"]
        more = {"name": "exec_command", "content": [{"type": "terminal", "terminalId": call_id}]}
        meta = {"terminal_info": {"cwd": turn.session.cwd, "terminal_id": call_id}}
        turn.update("tool_call", **call | more, status="in_progress", _meta=meta)

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        call_id = call["toolCallId"]
        delta = {"terminal_output_delta": {"data": f"{output}\n", "terminal_id": call_id}}
        code = 0 if status == "completed" else 1
        ended = {"terminal_exit": {"exit_code": code, "signal": None, "terminal_id": call_id}}
        turn.update("tool_call_update", toolCallId=call_id, _meta=delta)
        turn.update("tool_call_update", toolCallId=call_id, status=status, _meta=ended)


class GeminiTools(PlainTools):
    """A tool that needs permission has no tool_call, no input, and after a refusal no update at all."""

    def begin_asked(self, turn: "Turn", call: Payload) -> None:
        pass

    def shown(self, call: Payload) -> Payload:
        return {key: value for key, value in super().shown(call).items() if key != "rawInput"} | {"locations": []}

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        about = {"toolCallId": call["toolCallId"], "title": call["title"], "kind": call["kind"], "locations": []}
        turn.update("tool_call_update", **about, status=status, content=content_of(output))

    def refuse(self, turn: "Turn", call: Payload) -> None:
        pass


class OpencodeTools(PlainTools):
    def begin(self, turn: "Turn", call: Payload) -> None:
        about = {"toolCallId": call["toolCallId"], "kind": call["kind"]}
        turn.update("tool_call", **about, title="bash", status="pending", rawInput={"cwd": turn.session.cwd})
        turn.update("tool_call_update", **call, status="in_progress")

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        turn.update("tool_call_update", **call, status="in_progress")
        super().end(turn, call, status, output)


class QwenTools(PlainTools):
    """After each tool Qwen asks the client for a method that no protocol has."""

    def begin(self, turn: "Turn", call: Payload) -> None:
        meta = {"phase": "preparing", "toolName": "run_shell_command"}
        about = {"toolCallId": call["toolCallId"], "kind": call["kind"], "rawInput": {}}
        turn.update("tool_call", **about, title="Shell", status="pending", _meta=meta)

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        about = {"toolCallId": call["toolCallId"], "status": status, "content": content_of(output)}
        turn.update("tool_call_update", **about, rawOutput={"type": "shell_result", "output": output})
        if status == "completed":
            turn.ask("craft/drainMidTurnQueue", {"sessionId": turn.session.session_id})


class CopilotTools(PlainTools):
    """The title is a description; the command is in the input alone."""

    def begin(self, turn: "Turn", call: Payload) -> None:
        described = {
            "title": "run a test command",
            "rawInput": call["rawInput"] | {"description": "run a test command"},
        }
        turn.update("tool_call", **call | described, status="pending")

    def shown(self, call: Payload) -> Payload:
        commands = [{"identifier": call["title"], "readOnly": False}]
        return super().shown(call) | {"rawInput": call["rawInput"] | {"commands": commands}}

    def end(self, turn: "Turn", call: Payload, status: str, output: str) -> None:
        call_id = call["toolCallId"]
        turn.update("tool_call_update", toolCallId=call_id, content=content_of(output))
        raw = {"content": output, "detailedContent": output, "contents": []}
        turn.update("tool_call_update", toolCallId=call_id, status=status, rawOutput=raw)

    def refuse(self, turn: "Turn", call: Payload) -> None:
        raw = {"message": REFUSED, "code": "rejected"}
        turn.update("tool_call_update", toolCallId=call["toolCallId"], status="failed", rawOutput=raw)


STYLES: dict[str, PlainTools] = {
    "plain": PlainTools(),
    "claude": ClaudeTools(),
    "codex": CodexTools(),
    "gemini": GeminiTools(),
    "opencode": OpencodeTools(),
    "qwen": QwenTools(),
    "copilot": CopilotTools(),
}


def content_of(text: str) -> list[Payload]:
    return [{"type": "content", "content": text_block(text)}]


def _name(call: Payload) -> str:
    return _NAMES.get(call["kind"], "Other")
