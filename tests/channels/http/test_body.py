"""Compressed bodies: inflated for those who are let in, within a limit, and never a reason for a 500."""

import gzip
import json
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.http.body import inflate_body
from fairlead.channels.http.errors import HttpRefusal
from fairlead.errors import FairleadError
from tests.channels.harness import run_daemon_in

BODY = json.dumps({"userId": "alice", "message": "packed"}).encode()
LARGEST = 10_000


@pytest.mark.req("C5")
@given(st.binary(max_size=400), st.sampled_from(["", "gzip", "deflate", "br"]))
def test_whatever_comes_is_inflated_or_refused(data: bytes, encoding: str):
    with suppress(FairleadError, HttpRefusal):
        assert len(inflate_body(data, encoding, LARGEST)) <= LARGEST


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_body_is_inflated_up_to_its_limit(pack: object):
    assert callable(pack)
    assert inflate_body(pack(b"x" * LARGEST), "gzip", LARGEST) == b"x" * LARGEST
    with pytest.raises(FairleadError, match="too large"):
        inflate_body(pack(b"x" * (LARGEST + 1)), "gzip", LARGEST)


@pytest.mark.anyio
@pytest.mark.req("C5")
async def test_a_compressed_message_is_taken_and_a_broken_one_is_400(tmp_path: Path):
    packed = gzip.compress(BODY)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with run_daemon_in(tmp_path) as daemon:
        status, job = await daemon.post("/v1/messages", data=packed, headers=headers)
        assert (status, job["prompt"]) == (200, "packed")
        for broken in (packed[:-4], packed[:12] + b"\xff" + packed[13:], b"", b"no gzip", packed + b"more"):
            status, refused = await daemon.post("/v1/messages", data=broken, headers=headers)
            assert (status, refused["error"]["code"]) == (400, "E_INVALID_ARGS")
        status, refused = await daemon.post("/v1/messages", data=b"x", headers=headers | {"Content-Encoding": "br"})
        assert (status, refused["error"]["code"]) == (415, "E_INVALID_ARGS")


@pytest.mark.anyio
@pytest.mark.req("C5")
async def test_a_small_body_that_inflates_to_much_is_413_for_the_token_and_401_for_others(tmp_path: Path):
    bomb = gzip.compress(bytes(50_000_000))
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with run_daemon_in(tmp_path) as daemon:
        assert (await daemon.post("/v1/messages", data=bomb, headers=headers))[0] == 413
        assert (await daemon.post("/v1/messages", data=bomb, headers=headers | {"Authorization": "Bearer no"}))[
            0
        ] == 401
        # Nothing is inflated for a stranger: that a body is broken is not even noticed.
        stranger = headers | {"Authorization": "Bearer no"}
        assert (await daemon.post("/v1/messages", data=b"broken", headers=stranger))[0] == 401
