"""The file that holds the bearer token."""

from pathlib import Path

import pytest

from fairlead.channels.http.token import read_or_make_token, read_token
from fairlead.errors import Code, FairleadError

pytestmark = pytest.mark.anyio


@pytest.mark.req("C5")
def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path):
    token = read_or_make_token(tmp_path)
    path = tmp_path / "http-token"
    assert len(token) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert read_or_make_token(tmp_path) == read_token(tmp_path) == token
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"\xff\xfe" * 40, b"two words " * 10])
def test_a_token_file_without_a_token_is_named_not_replaced(tmp_path: Path, content: bytes):
    (tmp_path / "http-token").write_bytes(content)
    with pytest.raises(FairleadError, match="http-token") as caught:
        read_or_make_token(tmp_path)
    assert caught.value.code == Code.E_CONFIG
    assert (tmp_path / "http-token").read_bytes() == content
