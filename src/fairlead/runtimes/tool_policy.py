"""The tools an agent may use in a project: PERMISSIONS.json of its workspace, else RUNTIME_TOOLS.

Tools have Claude's names; the other runtimes map them. A file that cannot be understood means the tightest tier.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairlead.kit.files import read_regular
from fairlead.settings import ALL_TOOLS

FILE_NAME = "PERMISSIONS.json"
LARGEST_FILE = 64 * 1024

READONLY = ("Read", "Glob", "Grep", "WebSearch", "WebFetch")
STANDARD = ("Read", "Edit", "Glob", "Grep", "WebSearch", "WebFetch")
FULL = ALL_TOOLS

Tier = Literal["readonly", "standard", "full", "custom"]
# What a call of these tools does, in the names that a tier lists.
_NEEDS: Final = {
    "Bash": ("Bash",),
    "Edit": ("Edit", "Write"),
    "MultiEdit": ("Edit", "Write"),
    "NotebookEdit": ("Edit", "Write"),
    "Write": ("Write", "Edit"),
    "Delete": ("Write", "Bash"),
    "Move": ("Write", "Bash"),
    "Read": ("Read",),
    "Grep": ("Grep", "Glob", "Read"),
    "Glob": ("Glob", "Grep", "Read"),
    "WebFetch": ("WebFetch", "WebSearch"),
    "WebSearch": ("WebSearch", "WebFetch"),
}
_TOOLS_OF: dict[str, tuple[str, ...]] = {"readonly": READONLY, "standard": STANDARD, "full": FULL}


class ToolPolicy(msgspec.Struct, frozen=True):
    """`warning` says that the file was not understood and what holds instead. `tier` is empty without a file."""

    tools: tuple[str, ...]
    tier: str = ""
    note: str = ""
    warning: str = ""

    def has(self, *names: str) -> bool:
        return any(name in self.tools for name in names)

    @property
    def is_everything(self) -> bool:
        return set(FULL) <= set(self.tools)

    def allows(self, tool: str) -> bool:
        """Whether a call of this tool is within the tier, where agents name their tools in more ways than tiers do."""
        return self.is_everything or self.has(tool, *_NEEDS.get(tool, ()))


class _PermissionsFile(msgspec.Struct, forbid_unknown_fields=True):
    tier: Tier
    tools: list[str] | None = None
    note: str = ""


_permissions_decoder: Final = msgspec.json.Decoder(_PermissionsFile)
"""Made once: the turns that read such a file may be in a thread and in the event loop."""


def tool_policy_from(content: bytes | None, default_tools: tuple[str, ...]) -> ToolPolicy:
    """`content` is the file's, None where there is no file."""
    if content is None:
        return ToolPolicy(default_tools)
    try:
        said = _permissions_decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return _tightest(str(fault))
    if said.tier != "custom":
        if said.tools is not None:
            return _tightest(f"`tools` belongs to the tier custom, not to {said.tier}")
        return ToolPolicy(_TOOLS_OF[said.tier], said.tier, said.note)
    if said.tools is None:
        return _tightest("the tier custom needs `tools`")
    bad = [name for name in said.tools if not _is_tool_name(name)]
    if bad:
        return _tightest(f"{bad[0]!r} is not the name of a tool")
    return ToolPolicy(tuple(dict.fromkeys(said.tools)), "custom", said.note)


def _is_tool_name(name: Any) -> bool:
    # A comma or a leading dash would be read as more tools, or as an option.
    return isinstance(name, str) and name[:1].isalpha() and all(c.isalnum() or c in "_-*" for c in name)


def _tightest(reason: str) -> ToolPolicy:
    return ToolPolicy(
        READONLY,
        "readonly",
        warning=f"{FILE_NAME} cannot be used ({reason}), so the tier is readonly. Correct the file.",
    )


def read_tool_policy(workspace: Path, default_tools: tuple[str, ...] = FULL) -> ToolPolicy:
    """Read again for every turn, so that a change holds from the next message on."""
    path = _policy_file(workspace)
    try:
        content = read_regular(path, LARGEST_FILE + 1)
    except FileNotFoundError:
        return tool_policy_from(None, default_tools)
    except OSError as fault:
        return _tightest(f"{path}: {fault.strerror}")
    if len(content) > LARGEST_FILE:
        return _tightest(f"it is larger than {LARGEST_FILE} bytes")
    return tool_policy_from(content, default_tools)


@lru_cache(maxsize=256)
def _policy_file(workspace: Path) -> Path:
    """Kept, because every turn asks for it, and to put a path together takes longer than to look at it."""
    return workspace / FILE_NAME


def describe_tier(policy: ToolPolicy) -> str:
    """The tier with its tools, for a person who must notice that it is another one."""
    return f"{policy.tier or 'RUNTIME_TOOLS'} ({', '.join(policy.tools)})"


class WorkspaceTiers:
    """`flow.turns.approvals.Tiers`: read whenever somebody asks."""

    def __init__(self, workspaces: Path, default_tools: tuple[str, ...]) -> None:
        self._workspaces = workspaces
        self._default_tools = default_tools

    def describe(self, workspace: str) -> str:
        return describe_tier(self._read(workspace))

    def forbid(self, workspace: str, tool: str) -> bool:
        return not self._read(workspace).allows(tool)

    def _read(self, workspace: str) -> ToolPolicy:
        return read_tool_policy(self._workspaces / workspace, self._default_tools)
