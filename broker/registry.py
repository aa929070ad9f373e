"""The one list of what the broker serves. Dispatch and what ApiVersions says are derived from it.

An API is its schema with a handler. A handler is a plain function that returns its response, or a
future of it where it must wait.
"""

from asyncio import Future
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from msgspec import Struct

from minibroker.protocol.messages.api_versions import ApiVersion
from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Message

from .client import Buffers, Call, Reply

RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)


MAX_REQUEST_BYTES = 1024 * 1024
"""Of any request but Produce: it carries names and numbers, and is answered with more of them."""


class Api(Struct, frozen=True, kw_only=True):
    """One served API."""

    key: int
    name: str
    oldest: int
    newest: int
    advertised_oldest: int
    flexible_since: int | None
    has_flexible_response_header: bool
    max_request_bytes: int = MAX_REQUEST_BYTES
    """A larger frame is refused before it is decoded, since its answer would be larger still."""
    answer: Callable[[memoryview, Call], Reply]
    """Decodes a request's body, handles it and encodes the response. Raises Malformed, Hangup."""

    def is_flexible(self, version: int) -> bool:
        """Whether the version's headers carry tags."""
        return self.flexible_since is not None and version >= self.flexible_since


def serve(
    schema: ApiSchema[RequestT, ResponseT],
    handle: Callable[[RequestT, Call], ResponseT | Future[ResponseT] | None],
    max_request_bytes: int = MAX_REQUEST_BYTES,
) -> Api:
    """An API served by a handler of values; the schema's codec is around it."""

    def answer(body: memoryview, call: Call) -> Reply:
        version = call.api_version
        response = handle(schema.decode_request(version, body), call)
        if response is None:
            return None
        if isinstance(response, Future):
            return _later(response, partial(schema.encode_response_buffers, version))
        return schema.encode_response_buffers(version, response)

    return Api(
        key=schema.key,
        name=schema.name,
        oldest=schema.oldest,
        newest=schema.newest,
        advertised_oldest=schema.advertised_oldest,
        flexible_since=schema.flexible_since,
        has_flexible_response_header=schema.response_header_version(schema.newest) == 1,
        max_request_bytes=max_request_bytes,
        answer=answer,
    )


def _later(
    response: Future[ResponseT], encode: Callable[[ResponseT], Buffers]
) -> "Future[Buffers]":
    """The encoded response once the handler has it."""
    encoded: Future[Buffers] = response.get_loop().create_future()

    def finish(done: Future[ResponseT]) -> None:
        if encoded.cancelled():
            done.cancel()
        elif done.cancelled():
            encoded.cancel()
        elif error := done.exception():
            encoded.set_exception(error)
        else:
            encoded.set_result(encode(done.result()))

    def withdraw(done: "Future[Buffers]") -> None:
        if done.cancelled():
            response.cancel()

    response.add_done_callback(finish)
    encoded.add_done_callback(withdraw)
    return encoded


class Registry:
    """The served APIs by key."""

    def __init__(self, apis: Iterable[Api]) -> None:
        self._apis = {api.key: api for api in apis}

    def add(self, api: Api) -> None:
        """One more; it must not be there yet."""
        assert api.key not in self._apis, api.name
        self._apis[api.key] = api

    def find(self, key: int) -> Api | None:
        """The API with this key."""
        return self._apis.get(key)

    def advertised(self) -> tuple[ApiVersion, ...]:
        """What ApiVersions says."""
        return tuple(
            ApiVersion(api_key=key, min_version=api.advertised_oldest, max_version=api.newest)
            for key, api in sorted(self._apis.items())
        )
