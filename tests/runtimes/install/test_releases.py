"""Names and versions, as people and indexes write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.releases import (
    AgentRelease,
    PackageRelease,
    is_older,
    read_agent_release,
    read_package_release,
    version_order,
)

pytestmark = pytest.mark.req("B4")


def test_an_agent_is_asked_for_with_or_without_a_version():
    assert read_agent_release("opencode") == AgentRelease("opencode")
    assert read_agent_release(" opencode@1.0.3-rc.1 ") == AgentRelease("opencode", "1.0.3-rc.1")


@pytest.mark.parametrize("version", ["", "latest", "^1.2", "1.x || 2", "../../etc", ">=3", "*", "1/2"])
def test_what_means_something_else_tomorrow_is_no_version(version: str):
    with pytest.raises(FairleadError) as refused:
        read_agent_release(f"opencode@{version}")
    assert refused.value.code is Code.E_INVALID_ARGS
    assert "opencode@1.2.3" in refused.value.next_step


@pytest.mark.parametrize(
    ("kind", "text", "release"),
    [
        ("npm", "@scope/name@1.2.3", PackageRelease("@scope/name", "1.2.3")),
        ("npm", "@scope/name", PackageRelease("@scope/name")),
        ("npm", "name@latest", PackageRelease("name")),
        ("pypi", "fast-agent==0.4.1", PackageRelease("fast-agent", "0.4.1")),
        ("pypi", "hermes-agent[acp]@0.19.0", PackageRelease("hermes-agent[acp]", "0.19.0")),
    ],
)
def test_a_package_is_read_as_indexes_write_it(kind, text: str, release: PackageRelease):
    assert read_package_release(kind, text) == release


@pytest.mark.parametrize("kind", ["npm", "pypi"])
@pytest.mark.parametrize(
    "text", ["--registry=http://x", "git+ssh://x/y", "./here", "/etc/x", "file:x.tgz", "https://x/y.whl", "a b", ""]
)
def test_an_option_an_address_and_a_path_never_reach_npm_or_pip(kind, text: str):
    assert read_package_release(kind, text) is None


def test_versions_are_compared_by_their_numbers():
    ordered = ["0.9", "1.0.0-alpha", "1.0.0-rc.1", "1.0.0-rc.2", "1.0", "1.9.0", "1.10.0", "1.10.0.1", "2.0.0rc1", "2"]
    assert sorted(ordered, key=version_order) == ordered
    assert is_older("1.9.0", "1.10.0")
    assert not is_older("1.0", "1.0.0+build5")


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_two_texts_can_be_compared(one: str, other: str):
    assert not (is_older(one, other) and is_older(other, one))
