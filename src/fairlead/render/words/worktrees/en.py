"""What people read about worktrees of sessions, in English."""
# ruff: noqa: E501  # one sentence, one line

from typing import Final

WORKTREES: Final = {
    "made": "This session works in its own worktree now, on branch {branch}[[, begun from {target}]]",
    "shown": "Worktree {number} is on branch {branch}[[, to be merged into {target}]]",
    "restored": "Worktree {number} is made from what was kept, on branch {branch}. What was not committed is there again, uncommitted.",
    "left_behind": "It begins with the last commit: {count} uncommitted files of the project stay behind.",
    "submodules": "Its submodules are empty directories until somebody runs `git submodule update --init` there.",
    "nothing": "Everything in it is merged.",
    "uncommitted": "Not committed: {count} files",
    "commits": "Not merged: {count} commits",
    "missing": "Its directory is gone: somebody removed or moved it. /discard gives it up and keeps its commits.",
    "failed": "It cannot be used: {error} /worktree make tries again, /discard gives it up.",
    "list.none": "There are no worktrees. /worktree make makes one for this session.",
    "list.kept": "Discarded and still kept; /worktree restore NUMBER brings one back:",
    "merged": "Merged {branch} into {target}: {commits} commits, {files} files",
    "merged_nothing": "Nothing to merge: {target} has everything that is committed on {branch}.",
    "goes_on": "The session goes on in its worktree. /discard removes it.",
    "conflict": "{branch} conflicts with {target} in {count} files. Nothing was changed. The agent was asked to resolve it ({job}); when it has, look at it and use /merge again.",
    "discarded": "Discarded {branch}. The session works in the project's directory now, and its next message starts a new conversation.",
    "kept": "It can be brought back for {days} days with /worktree restore {number}; git has it as {ref}",
    "stays": "Its worktree stays, on branch {branch}, because work is in it. /merge or /discard settles that.",
    "renewed": "Nothing was left in the worktree {branch}, so the session gets a new one from the project's last commit.",
    "default_on": "New sessions in {project} get a worktree of their own",
    "default_off": "New sessions in {project} work in the project's directory",
    "notice.made": "🌿 Worktree {number} is ready: branch {branch}[[, begun from {target}]].[[ {count} uncommitted files of the project stay behind.]]",
    "notice.failed": "🌿 Worktree {number} ({branch}) cannot be used. {why}",
    "notice.merged": "🌿 Fairlead was interrupted and has finished the merge: {branch} is in {target} ({count} commits).",
    "notice.stopped": "🌿 The merge of {branch} was interrupted, and nothing was merged. {why}[[ ({files})]]",
    "notice.discarded": "🌿 Worktree {number} ({branch}) is discarded. /worktree restore {number} brings it back for some days.",
}
