"""How a runner's agents are separated from the account that the runner runs under, as its settings ask for it. Like the
daemon, a runner whose separation cannot be had does not start."""

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from fairlead.core.machines.runner_state import RunnerState
from fairlead.git.worktree_files import WorktreeFiles
from fairlead.kit.confinement import confine_children
from fairlead.kit.files import Disk, make_private_directory
from fairlead.kit.other_user import AnotherUser
from fairlead.runtimes.separation import check_giving, make_confinements
from fairlead.runtimes.tool_server import PASSABLE, ToolServer
from fairlead.settings import Settings
from fairlead.store.inboxes import INBOX_NAME, inbox_name


class SeparatedAgents:
    """`give` lets the agents' own user use a file; None where they have none."""

    def __init__(self, settings: Settings, state: RunnerState, tools: ToolServer, disk: Disk) -> None:
        self._settings = settings
        self._directory = settings.runner_dir
        self._state = state
        self._tools = tools
        self._disk = disk
        self.are_separated = False
        self.give: Callable[[Path | int], None] | None = None
        self.worktree_files = WorktreeFiles()

    def separate(self, stack: AsyncExitStack) -> None:
        """From here on every agent is started as the settings ask for. Raises E_CONFIG."""
        confinements = make_confinements(self._settings, self._find_shown)
        stack.enter_context(confine_children(confinements))
        self.are_separated = bool(confinements)
        user = next((c for c in confinements if isinstance(c, AnotherUser)), None)
        if user is None:
            return
        # The agents' user passes through to its inboxes, and can list nothing on the way.
        for directory in (self._directory, self._directory / INBOX_NAME):
            make_private_directory(directory, disk=self._disk)
            directory.chmod(PASSABLE)
        check_giving(user, self._directory / INBOX_NAME)
        self.give = self._tools.give = user.give
        self.worktree_files = WorktreeFiles(
            prepare=user.share_directory, give=user.share_tree, remove_theirs=user.remove_tree
        )

    def _find_shown(self, mark: str) -> list[Path]:
        """What an agent's own session has in the runner's directory, and the repository of its worktree."""
        job_id = mark.rpartition(":")[2]
        orders = (turn.order for turn in self._state.turns.values())
        order = next((o for o in orders if o is not None and o.invocation.job_id == job_id), None)
        if order is None:
            return self._tools.paths_for(mark)
        inbox = self._directory / INBOX_NAME / inbox_name(order.invocation.session_key)
        make_private_directory(inbox, disk=self._disk)  # shown before the first file comes
        if self.give is not None:
            self.give(inbox)
        repository = repository_of_worktree(Path(order.invocation.project_path))
        return [inbox, *repository, *self._tools.paths_for(mark)]


def repository_of_worktree(directory: Path) -> list[Path]:
    """The directory of the repository that this is a worktree of; empty if it is none. An agent can write whatever it
    likes into the worktree's `.git`: so the place that it names must name this worktree in turn, and the repository is
    the directory around that place."""
    with suppress(OSError, ValueError):
        link = directory / ".git"
        kind, _, named = link.read_text().strip().partition(": ")
        place = Path(named).resolve(strict=True)
        is_ours = Path((place / "gitdir").read_text().strip()) == link
        if kind == "gitdir" and place.parent.name == "worktrees" and is_ours:
            return [place.parent.parent]
    return []
