"""The switches of the scripted agent, their defaults, and the sets of switches that make it like a real agent."""

import json
from typing import Any

DEFAULTS: dict[str, Any] = {
    # the process
    "bare": False,
    "like": "",
    "notes": "",
    "state": "",
    "stderr": "",
    "exit_code": 1,
    "garbage": False,
    "ignore": "",
    "grandchild": "",
    # requests
    "initialize": "answers",
    "new": "answers",
    "on": {},
    # who it is and what it offers
    "name": "scripted",
    "version": "1.2.3",
    "protocol": 1,
    "auth": "none",
    "login": "",
    "auth_status": False,
    "capabilities": "load,resume,list,close,fork,image,embedded,steering",
    "settings": "modes,config",
    "models": "scripted-1,scripted-2,scripted-3[low]",
    "modes": "default,acceptEdits,plan",
    "options_offered": "mode,model,effort,fast",
    "says_mode": False,
    "commands": "compact,review",
    "commands_when": "after",
    "commands_bytes": 0,
    # sessions
    "session_prefix": "",
    "replay": "before",
    "resume_replays": 0,
    "lost_when_killed": False,
    "gone": "-32002 Resource not found: {session}",
    # turns
    "tools": "plain",
    "options": "default",
    "rejected": "goes on",
    "cancelled": "cancelled",
    "cancelled_tool": "failed",
    "cancel_while_asking": "at once",
    "second_prompt": "queue",
    "usage": "turn",
    "usage_when_loaded": "goes on",
    "usage_when_cancelled": "none",
    "context": "none",
    "title": "none",
    "message_ids": True,
}
_COPILOT_MODE = "https://agentclientprotocol.com/protocol/session-modes#"

REAL_AGENTS: dict[str, dict[str, Any]] = {
    "claude": {
        "name": "@agentclientprotocol/claude-agent-acp",
        "auth_status": True,
        "usage": "turn,quota",
        "context": "cost",
        "title": "after",
        "commands_when": "after,turn",
        "tools": "claude",
        "options": "claude",
        "modes": "default,acceptEdits,plan,auto",
        "cancel_while_asking": "cancel request",
    },
    "codex": {
        "name": "@agentclientprotocol/codex-acp",
        "auth": "listed",
        "auth_status": True,
        "settings": "models,modes,config",
        "models": "gpt-5.5[medium],gpt-5.5[high]",
        "modes": "agent,read-only,workspace-write,agent-full-access",
        "usage": "turn,quota",
        "usage_when_cancelled": "null",
        "context": "plain",
        "title": "before",
        "tools": "codex",
        "options": "codex",
        "rejected": "cancelled",
        "cancelled_tool": "none",
        "resume_replays": 1,
    },
    "gemini": {
        "name": "gemini-cli",
        "auth": "listed",
        "capabilities": "load,image,audio,embedded",
        "settings": "models,modes",
        "modes": "default,autoEdit,yolo,plan",
        "says_mode": True,
        "message_ids": False,
        "usage": "quota",
        "tools": "gemini",
        "options": "gemini",
        "cancelled_tool": "completed",
        "cancel_while_asking": "after the answer",
        "second_prompt": "cancel",
        "replay": "after",
        "gone": "-32603 Internal error: No previous sessions found for this project.",
    },
    "opencode": {
        "name": "OpenCode",
        "auth": "listed",
        "capabilities": "load,resume,list,close,fork,image,embedded",
        "settings": "config",
        "options_offered": "model,effort,mode",
        "models": "scripted/one,scripted/two",
        "modes": "build,plan",
        "session_prefix": "ses_",
        "usage": "last",
        "usage_when_cancelled": "zero",
        "context": "cost",
        "tools": "opencode",
        "rejected": "ends",
        "cancelled_tool": "completed",
        "second_prompt": "together",
    },
    "qwen": {
        "name": "qwen-code",
        "auth": "listed",
        "capabilities": "load,resume,list,image,audio,embedded",
        "settings": "models,modes,config",
        "options_offered": "mode,model",
        "models": "$runtime|openai|small(openai),$runtime|openai|large(openai)",
        "modes": "default,plan,auto-edit,auto,yolo",
        "commands_when": "turn",
        "commands_bytes": 280_000,
        "message_ids": False,
        "usage": "chunk",
        "tools": "qwen",
        "options": "qwen",
        "rejected": "ends",
        "second_prompt": "fails first",
    },
    "copilot": {
        "name": "Copilot",
        "auth": "listed",
        "capabilities": "load,list,close,image,embedded",
        "options_offered": "mode,allow_all",
        "modes": f"{_COPILOT_MODE}agent,{_COPILOT_MODE}plan,{_COPILOT_MODE}autopilot",
        "commands_when": "before,after",
        "message_ids": False,
        "usage": "cumulative",
        "usage_when_loaded": "zero",
        "context": "plain",
        "title": "after",
        "tools": "copilot",
        "options": "copilot",
        "rejected": "info",
        "cancelled_tool": "none",
        "second_prompt": "cancel",
    },
    "hermes": {
        "name": "hermes-agent",
        "capabilities": "load,resume,list,close,fork,image",
        "settings": "models",
        "usage": "cumulative",
        "resume_replays": 8,
    },
}


class Switches:
    """`switches.usage`, `switches.has("capabilities", "load")`."""

    def __init__(self, given: dict[str, Any]) -> None:
        if unknown := sorted(given.keys() - DEFAULTS.keys()):
            raise ValueError(f"The scripted agent has no switch {', '.join(unknown)}. It has: {', '.join(DEFAULTS)}")
        like = given.get("like")
        if like and like not in REAL_AGENTS:
            raise ValueError(f"The scripted agent cannot be like {like}. It can be like {', '.join(REAL_AGENTS)}")
        self._values = DEFAULTS | (REAL_AGENTS[like] if like else {}) | given

    def __getattr__(self, name: str) -> Any:
        return self._values[name]

    def has(self, name: str, item: str) -> bool:
        return item in self.items_of(name)

    def items_of(self, name: str) -> list[str]:
        return [item for item in str(self._values[name]).split(",") if item]

    @classmethod
    def from_words(cls, words: list[str]) -> "Switches":
        """`usage=none bare=true`: a value is JSON where it can be read as JSON, else a string."""
        return cls({name: _value_of(text) for name, _, text in (word.partition("=") for word in words)})


def _value_of(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
