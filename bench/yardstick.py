"""Y, the least that any Python broker can do: split frames, write each to a file, answer.

python -m bench.yardstick FILE      prints its port; ends with its standard input
"""

import asyncio
import os
import sys
from struct import unpack_from
from typing import cast

import uvloop

ANSWER = b"\0\0\0\x38" + bytes(56)
FILE_LIMIT_BYTES = 256 << 20
_SHARED = memoryview(bytearray(256 * 1024))


class Yardstick(asyncio.BufferedProtocol):
    """One connection."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.rest = b""
        self.large = bytearray()
        self.filled = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self.transport = cast(asyncio.Transport, transport)  # what every stream server gets

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next read goes."""
        if self.large:
            return memoryview(self.large)[self.filled :]
        if self.rest:
            _SHARED[: len(self.rest)] = self.rest
            return _SHARED[len(self.rest) :]
        return _SHARED

    def buffer_updated(self, nbytes: int) -> None:
        """A read has ended."""
        if self.large:
            self.filled += nbytes
            if self.filled == len(self.large):
                os.write(self.file, self.large)
                self.large = bytearray()
                self.transport.write(ANSWER)
            return
        start, end, answers = 0, len(self.rest) + nbytes, 0
        while end - start >= 4:
            stop = start + 4 + unpack_from(">i", _SHARED, start)[0]
            if stop > end:
                break
            os.write(self.file, _SHARED[start:stop])
            answers += 1
            start = stop
        self.rest = b""
        if end - start > 32 * 1024:
            self.large = bytearray(4 + unpack_from(">i", _SHARED, start)[0])
            self.filled = end - start
            self.large[: self.filled] = _SHARED[start:end]
        elif end > start:
            self.rest = bytes(_SHARED[start:end])
        if answers:
            self.transport.write(ANSWER * answers)


async def main(path: str) -> None:
    """Serve until the standard input ends."""
    file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Yardstick(file), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)

    def cap() -> None:
        if os.fstat(file).st_size > FILE_LIMIT_BYTES:
            os.lseek(file, 0, os.SEEK_SET)
            os.ftruncate(file, 0)
        loop.call_later(0.05, cap)

    cap()
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
