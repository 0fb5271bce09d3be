"""What an agent's tool is doing, in a few words. Knows the tools' names and inputs, not their results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from fairlead.render.safe_text import one_line, quote_inline
from fairlead.render.words import say

LABEL_LIMIT: Final = 120
_DETAIL_LIMIT: Final = 70
_NAME_LIMIT: Final = 40

Input = Mapping[str, Any]
Detail = Callable[[Input], str]

_PATHS = ("file_path", "absolute_path", "path", "notebook_path", "dir_path", "filePath", "filename", "uri")
_QUERIES = ("query", "pattern", "search_term", "regex", "q", "prompt")
_ADDRESSES = ("url", "uri", "prompt", "query")


class _Label(NamedTuple):
    word: str
    detail: Detail | None = None
    needs: bool = True  # does the sentence need something in its gap?


def _first(given: Input, *names: str) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str) and value.strip()), "")


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _listed_path(given: Input) -> str:
    """The first path in a list: Codex's changes, ACP's locations, Gemini's paths."""
    for name in ("changes", "locations", "paths", "files"):
        for item in _items(given.get(name)):
            if isinstance(item, str):
                return item
            if isinstance(item, Mapping):
                return _first(cast("Input", item), *_PATHS)
    return ""


def short_path(path: str) -> str:
    """`.../file.ts`: the name, and a sign that there is more in front of it."""
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if not parts:
        return path
    return parts[-1] if len(parts) == 1 and not path.startswith("/") else f".../{parts[-1]}"


def _path(given: Input) -> str:
    path = _first(given, *_PATHS) or _listed_path(given)
    return quote_inline(short_path(one_line(path, 1000)), _DETAIL_LIMIT) if path else ""


def _command(given: Input) -> str:
    command = _first(given, "command", "cmd", "script", "title")
    words = [word for word in _items(given.get("command")) if isinstance(word, str)]
    if words:  # an argument vector; of `bash -lc "…"` only the script says something
        command = words[-1] if len(words) == 3 and words[1].startswith("-") else " ".join(words)
    return quote_inline(command.strip().split("\n", 1)[0], _DETAIL_LIMIT)


def _query(given: Input) -> str:
    return quote_inline(_first(given, *_QUERIES, "title"), _DETAIL_LIMIT)


def _host(given: Input) -> str:
    for word in _first(given, *_ADDRESSES).split():
        if "://" in word:
            try:
                return quote_inline(urlsplit(word).hostname or "", _DETAIL_LIMIT)
            except ValueError:
                return ""
    return quote_inline(_first(given, *_ADDRESSES), _DETAIL_LIMIT)


def _task(given: Input) -> str:
    return quote_inline(_first(given, "description", "title", "name"), _DETAIL_LIMIT)


def _skill(given: Input) -> str:
    return quote_inline(_first(given, "skill", "command", "name"), _DETAIL_LIMIT)


_READ = _Label("read", _path)
_WRITE = _Label("write", _path)
_EDIT = _Label("edit", _path)
_LIST = _Label("list", _path)
_FIND = _Label("find", _query, needs=False)
_SEARCH = _Label("search", _query)
_WEB = _Label("web_search", _query, needs=False)
_FETCH = _Label("fetch", _host)
_RUN = _Label("run", _command, needs=False)
_SUBAGENT = _Label("subagent", _task, needs=False)
_PLAN = _Label("plan")
_ASK = _Label("ask")

_SUB_AGENT_TOOLS: Final = ("task", "agent")
_TODO_TOOLS: Final = ("todowrite", "todo_list", "write_todos", "update_plan", "taskcreate", "taskupdate", "tasklist")

# Names in lower case: Claude Code's, Codex's items, Gemini CLI's, and the kinds of ACP tool calls.
_LABELS: Final[Mapping[str, _Label]] = {
    **dict.fromkeys(("read", "notebookread", "read_file", "read_many_files", "view_image"), _READ),
    **dict.fromkeys(("write", "write_file"), _WRITE),
    **dict.fromkeys(("edit", "multiedit", "notebookedit", "replace", "file_change", "apply_patch"), _EDIT),
    **dict.fromkeys(("ls", "list_directory"), _LIST),
    "glob": _FIND,
    **dict.fromkeys(("grep", "search", "search_file_content", "grep_search"), _SEARCH),
    **dict.fromkeys(("websearch", "web_search", "google_web_search"), _WEB),
    **dict.fromkeys(("webfetch", "web_fetch", "fetch"), _FETCH),
    **dict.fromkeys(("bash", "shell", "command_execution", "run_shell_command", "execute", "powershell"), _RUN),
    **dict.fromkeys(("bashoutput", "taskoutput"), _Label("output")),
    **dict.fromkeys(("killshell", "killbash", "taskstop"), _Label("stop")),
    **dict.fromkeys(_SUB_AGENT_TOOLS, _SUBAGENT),
    **dict.fromkeys(_TODO_TOOLS, _PLAN),
    "exitplanmode": _Label("present_plan"),
    **dict.fromkeys(("askuserquestion", "ask_user"), _ASK),
    **dict.fromkeys(("think", "reasoning"), _Label("think")),
    **dict.fromkeys(("save_memory",), _Label("remember")),
    **dict.fromkeys(("skill", "slashcommand"), _Label("skill", _skill)),
    **dict.fromkeys(("switch_mode", "enterplanmode"), _Label("mode")),
    "delete": _Label("delete", _path),
    "move": _Label("move", _path),
}


def is_sub_agent_tool(name: str) -> bool:
    return name.strip().lower() in _SUB_AGENT_TOOLS


def is_todo_tool(name: str) -> bool:
    """A tool that only changes the agent's list of what it is going to do."""
    return name.strip().lower() in _TODO_TOOLS


def tool_label(name: str, given: Input, *, lang: str = "en") -> str:
    """What the tool `name` does with the input `given`, in at most LABEL_LIMIT characters."""
    words = name.strip()
    if words.startswith("mcp__") or words == "mcp_tool_call":
        return _shorten_label(_mcp_label(words, given, lang))
    label = _LABELS.get(words.lower())
    if label is None:
        return _shorten_label(_unknown_label(words, given, lang))
    what = label.detail(given) if label.detail else ""
    if label.needs and label.detail and not what:
        what = say(lang, "tool.something")
    return _shorten_label(say(lang, f"tool.{label.word}", what=what))


def _mcp_label(name: str, given: Input, lang: str) -> str:
    _, _, rest = name.partition("mcp__")
    server, _, tool = rest.partition("__")
    server = server or _first(given, "server")
    tool = tool or _first(given, "tool")
    if not tool:
        return _unknown_label(server, given, lang)
    return say(lang, "tool.mcp", tool=_spell_out(tool), server=_spell_out(server))


def _unknown_label(name: str, given: Input, lang: str) -> str:
    title = _first(given, "title") if name.lower() in {"", "other"} else ""
    shown = quote_inline(title, _DETAIL_LIMIT) or _spell_out(name)
    return say(lang, "tool.unknown", tool=shown) if shown else say(lang, "tool.unnamed")


def _spell_out(name: str) -> str:
    """`create_issue` as `create issue`: a name, not code."""
    return quote_inline(name.replace("_", " "), _NAME_LIMIT)


def _shorten_label(label: str) -> str:
    return label if len(label) <= LABEL_LIMIT else one_line(label, LABEL_LIMIT)
