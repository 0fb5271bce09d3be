"""Fetching an index or an archive: within limits, from where the owner's setting or TLS vouches for it."""

import hashlib
from pathlib import Path

import pytest

from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install import download as module
from fairlead.runtimes.install.download import check_origin, download, read_index_bytes, resolve
from tests.support.package_index.server import PackageIndex

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


async def refusal(work) -> FairleadError:
    with pytest.raises(FairleadError) as refused:
        await work
    assert refused.value.code is Code.E_AGENT_INSTALL
    return refused.value


async def test_an_index_is_read_from_a_file_and_over_http(tmp_path: Path):
    (tmp_path / "registry.json").write_text("{}")
    assert await read_index_bytes(str(tmp_path / "registry.json")) == b"{}"
    with PackageIndex() as index:
        index.files["/registry.json"] = b"[]"
        assert await read_index_bytes(f"{index.url}/registry.json") == b"[]"
        assert "the server answered 404" in (await refusal(read_index_bytes(f"{index.url}/other.json"))).message
    away = await refusal(read_index_bytes(f"{index.url}/registry.json"))
    assert away.message.startswith(f"{index.url}/registry.json cannot be read: ")
    assert "FAIRLEAD_AGENT_REGISTRY" in away.next_step
    missing = await refusal(read_index_bytes(str(tmp_path / "missing.json")))
    assert missing.message == f"{tmp_path}/missing.json cannot be read: No such file or directory."


async def test_a_download_is_bounded_and_gives_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    with PackageIndex() as index:
        index.files["/agent.tgz"] = bytes(3000)
        digest = await download(f"{index.url}/agent.tgz", tmp_path / "a", sizes.append)
        assert digest == f"sha256:{hashlib.sha256(bytes(3000)).hexdigest()}"
        assert (tmp_path / "a").read_bytes() == bytes(3000)
        assert sizes[-1] == 3000
        monkeypatch.setattr(module, "ARCHIVE_BYTES", 2999)
        too_large = await refusal(download(f"{index.url}/agent.tgz", tmp_path / "a", sizes.append))
    assert "is larger than" in too_large.message


@pytest.mark.parametrize(
    ("where", "index", "resolved"),
    [
        ("https://a.example/x.tgz", "http://b.example/r.json", "https://a.example/x.tgz"),
        ("files/x.tgz", "http://b.example/v1/r.json", "http://b.example/v1/files/x.tgz"),
        ("files/x.tgz", "/srv/registry/r.json", "/srv/registry/files/x.tgz"),
    ],
)
def test_an_address_may_be_relative_to_the_index(where: str, index: str, resolved: str):
    assert resolve(where, index) == resolved
    check_origin(resolved, index)


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("http://evil.example/x.tgz", "https://b.example/r.json"),
        ("http://b.example/x.tgz", "https://b.example/r.json"),
        ("ftp://b.example/x.tgz", "/srv/r.json"),
        ("/etc/passwd", "https://b.example/r.json"),
    ],
)
def test_a_program_from_where_anybody_can_change_it_is_refused(where: str, index: str):
    with pytest.raises(FairleadError):
        check_origin(where, index)
