"""What is known of one API: key, versions, the two messages, and the codecs made from them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from msgspec import Struct, field

from .decoding import Decoder, decoder
from .encoding import Encoder, Part, encoder
from .types import Message

RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)
MessageT = TypeVar("MessageT", bound=Message)
CodecT = TypeVar("CodecT")

_API_VERSIONS_KEY = 18
APART_FROM_BYTES = 4096
"""From here on a part is sent as it is, and not joined with others."""

AnyPartT = TypeVar("AnyPartT", bound=bytes | bytearray | memoryview)


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

    # By version, compiled when first asked for.
    request_decoders: dict[int, Decoder[RequestT]] = field(default_factory=dict)
    request_encoders: dict[int, Encoder[RequestT]] = field(default_factory=dict)
    response_decoders: dict[int, Decoder[ResponseT]] = field(default_factory=dict)
    response_encoders: dict[int, Encoder[ResponseT]] = field(default_factory=dict)

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
        known = self.request_decoders
        decode = known.get(version) or self._compiled(known, decoder, self.request, version)
        return decode(view, offset)

    def decode_response(self, version: int, view: memoryview, offset: int = 0) -> ResponseT:
        """Bytes behind the response are ignored. Raises: Malformed."""
        known = self.response_decoders
        decode = known.get(version) or self._compiled(known, decoder, self.response, version)
        return decode(view, offset)

    def encode_request(self, version: int, request: RequestT) -> bytes:
        known = self.request_encoders
        encode = known.get(version) or self._compiled(known, encoder, self.request, version)
        return b"".join(encode(request))

    def encode_response(self, version: int, response: ResponseT) -> bytes:
        return b"".join(self._response_parts(version, response))

    def encode_response_buffers(self, version: int, response: ResponseT) -> list[Part]:
        """The same bytes in pieces: large values (records) as they were given, the rest joined."""
        return list(joined(self._response_parts(version, response)))

    def _response_parts(self, version: int, response: ResponseT) -> list[Part]:
        known = self.response_encoders
        encode = known.get(version) or self._compiled(known, encoder, self.response, version)
        return encode(response)

    def _compiled(
        self,
        known: dict[int, CodecT],
        compile_codec: Callable[[type[MessageT], int, bool], CodecT],
        message: type[MessageT],
        version: int,
    ) -> CodecT:
        if not self.oldest <= version <= self.newest:
            raise ValueError(f"{self.name} has versions {self.oldest} to {self.newest}: {version}")
        codec = known[version] = compile_codec(message, version, self.is_flexible(version))
        return codec


def joined(parts: Iterable[AnyPartT]) -> Iterator[AnyPartT | bytes]:
    """The same bytes; what is small in one piece, what is large as it is."""
    small: list[AnyPartT] = []
    for part in parts:
        if len(part) < APART_FROM_BYTES:
            small.append(part)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield part
    if small:
        yield b"".join(small)


AnySchema = ApiSchema[Message, Message]
