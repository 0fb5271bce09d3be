"""What is said about the files of projects, in English."""

from typing import Final

TREES: Final = {
    "session": "This session",
    "none": "{subject} changed no files in {project}",
    "head": "{subject} changed {count} files in {project} ({added} {removed})",
    "running": "The turn is still running; this is how the files are now.",
    "late": "Fairlead stopped before the turn ended: changes that others made until its next start are listed too.",
    "cut": "The diff is too long and ends early.",
    "shared": "Another session worked in this directory at the same time ({jobs}): nobody can tell whose a change is.",
    "uncovered": "Not in the snapshots, so their changes are not shown: {names}",
    "undone": "Undid {jobs}: {count} files are as they were before. /redo brings the changes back.",
    "told": "The agent is told with its next prompt.",
    "redone": "Redid {jobs}: {count} files are as they were before the undo.",
    "taken_back": "Took back what was said in {jobs}. The files stay.",
    "left": "Left as they are, because no snapshot has them as they were, or somebody just changed them: {names}",
    "set_back": "The agent goes on as if it had not been said.",
    "set_forward": "The agent remembers again what was said.",
    "cut_off": "Fairlead was stopped in the middle, and has finished it now.",
    "cut_off_failed": "Fairlead was stopped in the middle of undoing {jobs}, and cannot finish it: {why}",
    "cut_off_open": "Some of the files may be undone. /undo goes on with it, and so does the next start.",
    "head_one": "{subject} changed 1 file in {project} ({added} {removed})",
    "undone_one": "Undid {jobs}: 1 file is as it was before. /redo brings the change back.",
    "redone_one": "Redid {jobs}: 1 file is as it was before the undo.",
}
