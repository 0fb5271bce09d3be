"""The bytes of a request's body, inflated where the client compressed them. Knows no route and no JSON."""

import zlib
from typing import Final

from fairlead.channels.http.errors import HttpRefusal
from fairlead.errors import Code, error

_ZLIB_OR_GZIP: Final = 47
"""zlib's word for either form, told apart by the first bytes."""


def inflate_body(data: bytes, encoding: str, largest: int) -> bytes:
    """Called once the request is authorised. Never makes more than `largest` bytes of a body, however small it came."""
    match encoding.strip().lower():
        case "" | "identity":
            return data
        case "gzip" | "x-gzip" | "deflate":
            return _inflate(data, largest)
        case other:
            sentence = f"The Content-Encoding {other[:40]!r} is not understood; gzip, deflate and none are."
            raise HttpRefusal(415, error(Code.E_INVALID_ARGS, sentence), {"Accept-Encoding": "gzip, deflate"})


def _inflate(data: bytes, largest: int) -> bytes:
    inflater = zlib.decompressobj(_ZLIB_OR_GZIP)
    try:
        content = inflater.decompress(data, largest + 1)
    except zlib.error as fault:
        raise error(Code.E_INVALID_ARGS, "The compressed body is broken.") from fault
    if len(content) > largest:
        raise error(Code.E_MESSAGE_TOO_LARGE, "The request's body is too large.")
    if not inflater.eof or inflater.unused_data:
        raise error(Code.E_INVALID_ARGS, "The compressed body is broken: it ends too early, or something follows it.")
    return content
