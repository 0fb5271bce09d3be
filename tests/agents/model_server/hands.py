"""Turns what the brain wants done into calls of the tools a CLI offers. Knows tool names, no wire formats."""

import json
from typing import Any

from .replies import Ask, Delegate, Reply, Run, Say, Step, Use, Write


def within_reach(reply: Reply, offered: frozenset[str]) -> Reply:
    """The same reply, every wish turned into a call of an offered tool, or into words that there is none."""
    return Reply(tuple(_reach(step, offered) for step in reply.steps), reply.usage)


def _reach(step: Step, offered: frozenset[str]) -> Step:
    match step:
        case Run(command, in_background):
            choices = _shells(command, in_background=in_background)
        case Write(path, content):
            choices = _writers(path, content)
        case Ask(question, options):
            choices = _askers(question, options)
        case Delegate(prompt):
            choices = _delegates(prompt)
        case _:
            return step
    found = next((name for name in choices if name in offered), None)
    return Use(found, choices[found]) if found else Say(f"I am offered no tool for that: {', '.join(choices)}.")


def _shells(command: str, *, in_background: bool) -> dict[str, dict[str, Any]]:
    described = {"command": command, "description": "run a test command"}
    return {
        "Bash": described | ({"run_in_background": True} if in_background else {}),
        "exec_command": {"cmd": command} | ({"yield_time_ms": 250} if in_background else {}),
        "shell_command": {"command": command},
        "shell": {"command": ["bash", "-lc", command]},
        "run_shell_command": described | ({"is_background": True} if in_background else {}),
        "bash": described,
    }


def _writers(path: str, content: str) -> dict[str, dict[str, Any]]:
    added = "\n".join(f"+{line}" for line in content.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {path}\n{added}\n*** End Patch\n"
    return {
        "Write": {"file_path": path, "content": content},
        "write_file": {"file_path": path, "content": content},
        "apply_patch": {"input": patch},
        "write": {"filePath": path, "content": content},
        "create": {"path": path, "file_text": content},
        "exec_command": {"cmd": f"apply_patch <<'PATCH'\n{patch}PATCH"},
    }


def _askers(question: str, options: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    labelled = [{"label": option, "description": f"Choose {option}"} for option in options]
    asked = {"question": question, "header": "Choice", "options": labelled}
    return {
        "AskUserQuestion": {"questions": [asked | {"multiSelect": False}]},
        "request_user_input": {"questions": [asked | {"id": "choice"}]},
        "ask_user_question": {"questions": [asked | {"multiSelect": False}]},
        "question": {"questions": [asked]},
        "ask_user": {"questions": [asked | {"type": "choice"}]},
    }


def _delegates(prompt: str) -> dict[str, dict[str, Any]]:
    task = {"description": "a test task", "prompt": prompt, "subagent_type": "general-purpose"}
    return {"Agent": task, "Task": task}


def as_json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
