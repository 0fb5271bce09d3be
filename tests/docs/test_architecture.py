"""The drawings of docs/architecture.md name what is there: every package, and no other."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/fairlead"
TEXT = (ROOT / "docs/architecture.md").read_text()


def names_in(folder: Path) -> set[str]:
    """The modules and packages of a folder, by the names that documents use."""
    return {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()} - {
        "__init__",
        "__main__",
        "__pycache__",
    }


def test_the_drawing_of_the_packages_shows_each_of_them():
    drawing = TEXT.partition("## The packages")[2].partition("```mermaid")[2].partition("```")[0]
    drawn = set(re.findall(r'\b(\w+)\["', drawing)) - {"adapters", "contracts", "base"}
    assert drawn == names_in(SOURCE)


def layer_of(name: str, container: str) -> int:
    """How far down import-linter holds this module or package."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each.get("containers") == [container]]
    return next(number for number, layer in enumerate(layers) if name in layer.split(" | "))


def test_the_parts_of_flow_are_those_that_are_there_from_top_to_bottom():
    rows = re.findall(r"(?m)^\| `flow/(\w+)` \|", TEXT)
    assert set(rows) == names_in(SOURCE / "flow") - {"bindings"}
    assert rows == sorted(rows, key=lambda name: layer_of(name, "fairlead.flow"))


def test_the_parts_of_the_discord_channel_are_those_that_are_there_from_top_to_bottom():
    table = TEXT.partition("Inside `channels/discord`")[2].partition("`channels/push`")[0]
    rows = [name for row in re.findall(r"(?m)^\| (`.*?) \|", table) for name in re.findall(r"`(\w+)`", row)]
    assert set(rows) == names_in(SOURCE / "channels/discord")
    assert rows == sorted(rows, key=lambda name: layer_of(name, "fairlead.channels.discord"))


def test_every_module_that_the_page_names_is_there():
    for name in re.findall(r"`((?:core|flow|render|channels|store|runtimes|testing)/[\w/]+)`", TEXT):
        path = SOURCE / name
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
