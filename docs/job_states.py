"""Draws the states of a job for docs/concepts.md from the table in fairlead.core.job_states, for `generate`."""  # noqa: INP001 - a script, not a package

from pathlib import Path

from fairlead.core.job_states import TRANSITIONS

CONCEPTS = Path(__file__).with_name("concepts.md")


def diagram() -> str:
    arrows = (f"    {move.before or '[*]'} --> {move.after}: {move.arrow}" for move in TRANSITIONS)
    return "\n".join(("stateDiagram-v2", *arrows, ""))


def with_diagram(document: str) -> str:
    before, fence, rest = document.partition("```mermaid\n")
    return before + fence + diagram() + "```" + rest.partition("```")[2]
