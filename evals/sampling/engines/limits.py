"""How much of an HTTP reply is read: so many bytes, also of one that unpacks to more."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

ENCODINGS = ("gzip", "deflate")  # that are asked for, and unpacked here
CUT, PACKED = "rlvr.cut", "rlvr.packed"  # in `extensions`: the reply was longer. It has another encoding


def limit(response: httpx.Response, largest: int) -> None:
    """Read no more than `largest` bytes of a reply, whose header came. Its `extensions` then say so.

    The HTTP library unpacks a chunk whole: 64 KiB of gzip are 64 MiB of zeros.

    Args:
        response: of httpx, or of the library of its interface that the openai SDK uses.
    """
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in (*ENCODINGS, "identity"):
        response.extensions[PACKED] = encoding
    limited = _limited(type(response).__module__.partition(".")[0])
    response.stream = limited(response, response.stream, largest, packed=encoding in ENCODINGS)


@cache
def _limited(library: str) -> Any:
    """A stream of this library, which reads another one as far as it may."""
    base: Any = import_module(library).AsyncByteStream

    class Limited(base):  # type: ignore[misc]
        def __init__(self, response: httpx.Response, stream: httpx.AsyncByteStream, largest: int, packed: bool) -> None:
            self._response, self._stream, self._left = response, stream, largest
            self._unpacker = zlib.decompressobj(wbits=47) if packed else None  # unpacks gzip and zlib

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream:
                try:
                    data = chunk if self._unpacker is None else self._unpacker.decompress(chunk, self._left + 1)
                except zlib.error:
                    self._response.extensions[PACKED] = "damaged gzip"
                    return
                if len(data) > self._left:
                    self._response.extensions[CUT] = True
                    yield data[: self._left]
                    return
                self._left -= len(data)
                yield data

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Limited
