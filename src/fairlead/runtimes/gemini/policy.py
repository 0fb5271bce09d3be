"""A tier as Gemini's own policy file: everything is denied but the tools of the tier. Pure."""

from typing import Final

from fairlead.runtimes.tool_policy import FULL, ToolPolicy

_TOOLS: Final[dict[str, tuple[str, ...]]] = {
    "Bash": ("run_shell_command", "list_background_processes", "read_background_output"),
    "Read": ("read_file", "read_many_files", "list_directory"),
    "Write": ("write_file",),
    "Edit": ("replace",),
    "Glob": ("glob", "list_directory"),
    "Grep": ("grep_search", "search_file_content"),
    "WebSearch": ("google_web_search",),
    "WebFetch": ("web_fetch",),
}
# These tools only help the model to think, and change nothing.
_HARMLESS: Final = ("write_todos", "update_topic")
# Without it gemini asks a person about every `>` of a shell that is allowed. Older versions know the second name alone.
_REDIRECTION: Final = "allowRedirection = true\nallow_redirection = true\n"


def is_everything(policy: ToolPolicy) -> bool:
    return set(FULL) <= set(policy.tools)


def policy_for(policy: ToolPolicy) -> str:
    names = [name for tool in policy.tools for name in _TOOLS.get(tool, ())]
    allowed = ", ".join(f'"{name}"' for name in dict.fromkeys([*names, *_HARMLESS]))
    return (
        '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 900\n\n'
        f'[[rule]]\ntoolName = [{allowed}]\ndecision = "allow"\npriority = 950\n{_REDIRECTION}'
    )
