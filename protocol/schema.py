"""What is known of one API: key, versions, the two messages, and the codecs made from them."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from .decoding import decoder
from .encoding import Part, encoder
from .types import Message

RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)

_API_VERSIONS_KEY = 18
_APART_FROM_BYTES = 4096


class ApiSchema(Struct, Generic[RequestT, ResponseT], frozen=True, kw_only=True):
    """One API. Versions oldest to newest can be decoded and encoded."""

    key: int
    name: str
    oldest: int
    newest: int
    flexible_since: int | None
    request: type[RequestT]
    response: type[ResponseT]
    advertised_from: int | None = None  # where ApiVersions says less than what is served

    @property
    def advertised_oldest(self) -> int:
        return self.oldest if self.advertised_from is None else self.advertised_from

    def is_flexible(self, version: int) -> bool:
        """Whether compact lengths and tags are used (KIP-482)."""
        return self.flexible_since is not None and version >= self.flexible_since

    def request_header_version(self, version: int) -> int:
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """0 or 1; 0 always for ApiVersions, whose client cannot know what we speak (KIP-511)."""
        return int(self.is_flexible(version) and self.key != _API_VERSIONS_KEY)

    def decode_request(self, version: int, view: memoryview, offset: int = 0) -> RequestT:
        """Bytes behind the request are ignored. Raises: Malformed."""
        self._check(version)
        return decoder(self.request, version, self.is_flexible(version))(view, offset)

    def decode_response(self, version: int, view: memoryview, offset: int = 0) -> ResponseT:
        """Bytes behind the response are ignored. Raises: Malformed."""
        self._check(version)
        return decoder(self.response, version, self.is_flexible(version))(view, offset)

    def encode_request(self, version: int, request: RequestT) -> bytes:
        self._check(version)
        parts: list[Part] = []
        encoder(self.request, version, self.is_flexible(version))(request, parts)
        return b"".join(parts)

    def encode_response(self, version: int, response: ResponseT) -> bytes:
        return b"".join(self._response_parts(version, response))

    def encode_response_buffers(self, version: int, response: ResponseT) -> list[Part]:
        """The same bytes in pieces: large values (records) as they were given, the rest joined."""
        return list(_joined(self._response_parts(version, response)))

    def _response_parts(self, version: int, response: ResponseT) -> list[Part]:
        self._check(version)
        parts: list[Part] = []
        encoder(self.response, version, self.is_flexible(version))(response, parts)
        return parts

    def _check(self, version: int) -> None:
        if not self.oldest <= version <= self.newest:
            raise ValueError(f"{self.name} has versions {self.oldest} to {self.newest}: {version}")


def _joined(parts: Iterable[Part]) -> Iterable[Part]:
    small: list[Part] = []
    for part in parts:
        if len(part) < _APART_FROM_BYTES:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield part
    if small:
        yield b"".join(small)


AnySchema = ApiSchema[Message, Message]
