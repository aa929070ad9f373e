"""Request and response headers.

Request header v1 is api_key, api_version, correlation_id and client_id; v2 adds tags, and its
client_id is a legacy nullable string all the same, so both are read alike up to there.
Response header v0 is the correlation_id; v1 adds tags.
"""

from struct import Struct as Layout
from typing import NamedTuple

from .errors import Malformed
from .varint import skip_tags

_KEY_AND_VERSION = Layout(">hh")
_REQUEST = Layout(">hhih")
_CORRELATION_ID = Layout(">i")
_NO_TAGS = b"\x00"


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def peek(view: memoryview) -> tuple[int, int]:
    """api_key and api_version, which say how to read the rest. Raises: Malformed."""
    if len(view) < _KEY_AND_VERSION.size:
        raise Malformed("a frame without api_key and api_version")
    key, version = _KEY_AND_VERSION.unpack_from(view)
    return int(key), int(version)


def decode_request_header(view: memoryview, flexible: bool) -> tuple[RequestHeader, int]:
    """The header, and where the body starts. Raises: Malformed."""
    if len(view) < _REQUEST.size:
        raise Malformed("a request header is cut off")
    key, version, correlation_id, length = _REQUEST.unpack_from(view)
    end = _REQUEST.size + max(length, 0)
    if end > len(view):
        raise Malformed("client_id is cut off")
    try:
        client_id = None if length < 0 else str(view[_REQUEST.size : end], "utf-8")
        offset = skip_tags(view, end) if flexible else end
    except (UnicodeDecodeError, IndexError) as error:
        raise Malformed(f"a request header: {error}") from error
    return RequestHeader(key, version, correlation_id, client_id), offset


def encode_request_header(header: RequestHeader, flexible: bool) -> bytes:
    key, version, correlation_id, client_id = header
    text = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(text)
    fixed = _REQUEST.pack(key, version, correlation_id, length)
    return fixed + text + (_NO_TAGS if flexible else b"")


def decode_response_header(view: memoryview, flexible: bool) -> tuple[int, int]:
    """The correlation id, and where the body starts. Raises: Malformed."""
    if len(view) < _CORRELATION_ID.size:
        raise Malformed("a response header is cut off")
    (correlation_id,) = _CORRELATION_ID.unpack_from(view)
    try:
        offset = skip_tags(view, _CORRELATION_ID.size) if flexible else _CORRELATION_ID.size
    except IndexError as error:
        raise Malformed("the tags of a response header are cut off") from error
    return int(correlation_id), offset


def encode_response_header(correlation_id: int, flexible: bool) -> bytes:
    return _CORRELATION_ID.pack(correlation_id) + (_NO_TAGS if flexible else b"")
