"""A permission request as standing rules see it: its paths resolved, and only what lies in the project."""

from collections.abc import Callable
from posixpath import join, relpath

from fairlead.core.engine import Ask, PermissionRequested
from fairlead.core.rules import RuleSubject

RealPath = Callable[[str], str]


def rule_subject(ask: Ask, project_path: str, real_path: RealPath) -> RuleSubject | None:
    """None where no rule can be about it: it is no permission, or would run outside of the project's directory."""
    if not isinstance(ask, PermissionRequested):
        return None
    if ask.directory and real_path(join(project_path, ask.directory)) != real_path(project_path):
        return None
    places = {_place_in(project_path, path, real_path) for path in ask.paths}
    path = places.pop() if len(places) == 1 else ""
    return RuleSubject(tool=ask.tool, detail=ask.detail, command=ask.command, path=path)


def _place_in(project_path: str, path: str, real_path: RealPath) -> str:
    """The path from the project's directory on; empty for one that leads out of it."""
    if "\x00" in path or path.startswith("~"):
        return ""
    place = relpath(real_path(join(project_path, path)), real_path(project_path))
    return "" if place == "." or place.split("/", 1)[0] == ".." else place
