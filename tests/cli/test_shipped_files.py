"""What the messages name can be found, from a checkout and from a wheel."""

import tomllib
from pathlib import Path

import pytest

from fairlead.cli.shipped_files import shipped_file


@pytest.mark.parametrize("name", [".env.example", "fairlead.service", "dev.fairlead.plist"])
def test_every_shipped_file_is_in_the_checkout_and_in_the_wheel(name: str):
    assert shipped_file(name).is_file()
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert f"fairlead/shipped/{name}" in included.values()
    assert all((Path(__file__).parents[2] / path).is_file() for path in included)
