"""A raw client for tests: one connection, requests and answers as values, or as bytes.

It encodes with the project's codec, which has oracles of its own (tests/protocol).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from struct import pack, unpack
from typing import TypeVar

from minibroker.protocol.headers import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Message

RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)

DEADLINE_S = 10.0


class Closed(Exception):  # noqa: N818 - what happened, not what went wrong
    """The broker closed the connection."""


class Wire:
    """One connection to a broker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.correlation_id = 0

    def send(
        self,
        schema: ApiSchema[RequestT, ResponseT],
        version: int,
        request: RequestT,
        client_id: str | None = "wire",
    ) -> int:
        """Send a request; its correlation id."""
        self.correlation_id += 1
        header = RequestHeader(schema.key, version, self.correlation_id, client_id)
        self.send_frame(
            encode_request_header(header, schema.is_flexible(version))
            + schema.encode_request(version, request)
        )
        return self.correlation_id

    def send_frame(self, frame: bytes) -> None:
        """Send any bytes as one frame."""
        self.writer.write(pack(">i", len(frame)) + frame)

    async def receive_frame(self) -> bytes:
        """The next frame. Raises Closed."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                (size,) = unpack(">i", await self.reader.readexactly(4))
                return await self.reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                raise Closed from error

    async def receive(self, schema: ApiSchema[RequestT, ResponseT], version: int) -> ResponseT:
        """The next answer, which must be the one to the oldest unanswered request of this kind."""
        _, response = await self.receive_with_id(schema, version)
        return response

    async def receive_with_id(
        self, schema: ApiSchema[RequestT, ResponseT], version: int
    ) -> tuple[int, ResponseT]:
        """The next answer and its correlation id."""
        view = memoryview(await self.receive_frame())
        has_tags = schema.response_header_version(version) == 1
        correlation_id, offset = decode_response_header(view, has_tags)
        return correlation_id, schema.decode_response(version, view, offset)

    async def call(
        self,
        schema: ApiSchema[RequestT, ResponseT],
        version: int,
        request: RequestT,
        client_id: str | None = "wire",
    ) -> ResponseT:
        """Send a request and wait for its answer."""
        sent = self.send(schema, version, request, client_id)
        received, response = await self.receive_with_id(schema, version)
        assert received == sent
        return response


@asynccontextmanager
async def connected(bootstrap: str) -> AsyncIterator[Wire]:
    """A connection for the duration of a block."""
    host, _, port = bootstrap.rpartition(":")
    async with asyncio.timeout(DEADLINE_S):
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
