"""The two transport compressions of the gateway, one context for the life of a socket.

Knows only text and bytes.
"""

import zlib
from typing import Protocol

import zstandard


class Squeeze(Protocol):
    def __call__(self, text: str, /) -> bytes: ...


def zlib_stream() -> Squeeze:
    context = zlib.compressobj()

    def squeeze(text: str) -> bytes:
        return context.compress(text.encode()) + context.flush(zlib.Z_SYNC_FLUSH)

    return squeeze


def zstd_stream() -> Squeeze:
    context = zstandard.ZstdCompressor().compressobj()

    def squeeze(text: str) -> bytes:
        return context.compress(text.encode()) + context.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    return squeeze


STREAMS = {"zlib-stream": zlib_stream, "zstd-stream": zstd_stream}
