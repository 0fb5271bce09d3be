"""The body of a request that somebody waits for: its receiver runs as soon as it is written."""

from typing import Any

import aiohttp.abc
import aiohttp.payload
import msgspec

from fairlead.kit.processor import yield_processor


class JsonBody(aiohttp.payload.BytesPayload):
    def __init__(self, content: Any) -> None:
        super().__init__(msgspec.json.encode(content), content_type="application/json")

    async def write_with_length(self, writer: aiohttp.abc.AbstractStreamWriter, content_length: int | None) -> None:
        """aiohttp gives the headers to the system together with the body."""
        await super().write_with_length(writer, content_length)
        yield_processor()
