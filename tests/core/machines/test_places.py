"""Where a project lies is in its path, and its machine in its name."""

import pytest

from fairlead.core.machines.places import (
    is_machine_name,
    machine_of,
    machine_of_name,
    name_there,
    own_name,
    path_there,
    place,
)


@pytest.mark.req("H2")
@pytest.mark.parametrize(
    ("path", "machine", "there"),
    [
        ("/srv/api", "", "/srv/api"),
        ("/srv/a:b", "", "/srv/a:b"),
        ("gpu:/home/me/trainer", "gpu", "/home/me/trainer"),
        ("gpu:/a:b", "gpu", "/a:b"),
        ("C:/windows", "", "C:/windows"),
    ],
)
def test_a_path_says_which_machine_it_is_on(path: str, machine: str, there: str):
    assert (machine_of(path), path_there(path)) == (machine, there)
    assert place(machine_of(path), path_there(path)) == path


@pytest.mark.req("H2")
def test_names_of_projects_and_agents_there_begin_with_the_machine():
    assert name_there("gpu", "trainer") == "gpu/trainer"
    assert name_there("", "api") == "api"
    assert (machine_of_name("gpu/trainer"), own_name("gpu/trainer")) == ("gpu", "trainer")
    assert (machine_of_name("api"), own_name("api")) == ("", "api")


@pytest.mark.req("H1")
@pytest.mark.parametrize(
    ("name", "fits"), [("gpu", True), ("work-2", True), ("daemon", False), ("Gpu", False), ("a/b", False), ("", False)]
)
def test_a_machine_has_a_short_plain_name(name: str, fits: bool):
    assert is_machine_name(name) is fits
