"""The index of a registry: what is understood of it, and what one broken entry hides."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.index import (
    BinaryRun,
    Distribution,
    PackageRun,
    RegistryAgent,
    RegistryIndex,
    platform_key,
    read_index,
)

pytestmark = pytest.mark.req("B4")

AGENT = {
    "id": "sample",
    "name": "Sample Agent",
    "version": "1.2.0",
    "description": "Does things",
    "icon": "sample.svg",
    "distribution": {
        "npx": {"package": "@sample/agent@1.2.0", "args": ["--acp"], "env": {"QUIET": "1"}},
        "uvx": {"package": "sample==1.2.0"},
        "binary": {"linux-x86_64": {"archive": "https://example.org/s.tar.gz", "cmd": "./s", "args": ["acp"]}},
    },
}


def test_an_index_is_understood_with_every_kind_of_distribution():
    data = json.dumps({"version": "1.0.0", "agents": [AGENT], "extensions": []}).encode()
    distribution = Distribution(
        npx=PackageRun("@sample/agent@1.2.0", ("--acp",), {"QUIET": "1"}),
        uvx=PackageRun("sample==1.2.0"),
        binary={"linux-x86_64": BinaryRun("https://example.org/s.tar.gz", "./s", ("acp",))},
    )
    assert read_index(data, "here") == RegistryIndex(
        (RegistryAgent("sample", "1.2.0", distribution, "Sample Agent", "Does things"),)
    )


def test_an_entry_that_cannot_be_understood_hides_no_other():
    broken = [{"id": "odd", "version": 2}, {"version": "1"}]
    index = read_index(json.dumps({"agents": [*broken, AGENT]}).encode(), "here")
    assert [agent.id for agent in index.agents] == ["sample"]
    assert index.unreadable == ("odd", "?")


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b'{"agents": 3}', b"\xff\xfe", b'{"agents": ["x"]}'])
def test_what_is_no_index_is_refused_with_the_setting_that_names_it(data: bytes):
    with pytest.raises(FairleadError) as refused:
        read_index(data, "https://example.org/registry.json")
    assert refused.value.code is Code.E_AGENT_INSTALL
    assert "https://example.org/registry.json" in refused.value.message
    assert "FAIRLEAD_AGENT_REGISTRY" in refused.value.next_step


@given(st.binary(max_size=200))
def test_any_bytes_are_an_index_or_refused(data: bytes):
    with contextlib.suppress(FairleadError):
        assert isinstance(read_index(data, "here"), RegistryIndex)


@pytest.mark.parametrize(
    ("uname", "key"),
    [
        (("Linux", "x86_64"), "linux-x86_64"),
        (("Linux", "aarch64"), "linux-aarch64"),
        (("Darwin", "arm64"), "darwin-aarch64"),
        (("FreeBSD", "amd64"), "freebsd-x86_64"),
    ],
)
def test_a_platform_is_named_as_the_index_names_it(uname: tuple[str, str], key: str):
    assert platform_key(*uname) == key
