"""Request and response headers, against kio's and by hand."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1.header import RequestHeader as KioHeader1
from kio.schema.request_header.v2.header import RequestHeader as KioHeader2
from kio.schema.response_header.v0.header import ResponseHeader as KioResponse0
from kio.schema.response_header.v1.header import ResponseHeader as KioResponse1
from kio.serial import entity_writer
from kio.static.primitive import i16, i32

from minibroker.protocol.errors import Malformed
from minibroker.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    peek,
)

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
HEADERS = st.builds(RequestHeader, INT16, INT16, INT32, st.none() | st.text(max_size=20))


@given(HEADERS, st.booleans())
def test_request_headers_are_those_of_kio(header: RequestHeader, flexible: bool) -> None:
    theirs = io.BytesIO()
    kio_header = KioHeader2 if flexible else KioHeader1
    entity_writer(kio_header)(
        theirs,
        kio_header(
            request_api_key=i16(header.api_key),
            request_api_version=i16(header.api_version),
            correlation_id=i32(header.correlation_id),
            client_id=header.client_id,
        ),
    )

    written = encode_request_header(header, flexible)

    assert written == theirs.getvalue()
    assert peek(memoryview(written)) == (header.api_key, header.api_version)
    assert decode_request_header(memoryview(written + b"body"), flexible) == (header, len(written))


@given(INT32, st.booleans())
def test_response_headers_are_those_of_kio(correlation_id: int, flexible: bool) -> None:
    theirs = io.BytesIO()
    if flexible:
        entity_writer(KioResponse1)(theirs, KioResponse1(correlation_id=i32(correlation_id)))
    else:
        entity_writer(KioResponse0)(theirs, KioResponse0(correlation_id=i32(correlation_id)))

    written = encode_response_header(correlation_id, flexible)

    assert written == theirs.getvalue()
    assert decode_response_header(memoryview(written), flexible) == (correlation_id, len(written))


def test_client_id_is_a_legacy_string_in_the_flexible_header_too() -> None:
    header, offset = decode_request_header(
        memoryview(bytes.fromhex("0003 000c 00000007 0002 6162 00")), flexible=True
    )

    assert header == RequestHeader(api_key=3, api_version=12, correlation_id=7, client_id="ab")
    assert offset == 13


def test_unknown_tags_of_a_header_are_skipped() -> None:
    _, offset = decode_request_header(
        memoryview(bytes.fromhex("0003 000c 00000007 ffff 02 0001aa 0500 ff")), flexible=True
    )

    assert offset == 16


@pytest.mark.parametrize("cut", range(14))
def test_a_header_that_is_cut_off_is_malformed(cut: int) -> None:
    whole = encode_request_header(RequestHeader(3, 12, 7, "abc"), flexible=True)
    assert len(whole) == 14

    with pytest.raises(Malformed):
        decode_request_header(memoryview(whole[:cut]), flexible=True)


@pytest.mark.parametrize(
    ("tags", "complaint"),
    [
        ("41" + "".join(f"{tag:02x}00" for tag in range(65)), "65 tags in 130 bytes"),
        ("03 0000 0100 02", "3 tags in 5 bytes"),
        ("ffffffff0f", "4294967295 tags in 0 bytes"),
        ("ffffffffff01", "above 32 bits"),
        ("02 0000 0000", "tag 0 after tag 0"),
        ("80", "out of bounds"),
    ],
)
def test_tags_before_authentication_are_bounded(tags: str, complaint: str) -> None:
    # CVE-2026-111115: the sender counts the tags, in the first bytes that a broker ever reads.
    frame = bytes.fromhex("0012 0003 00000001 ffff" + tags)

    with pytest.raises(Malformed, match=complaint):
        decode_request_header(memoryview(frame), flexible=True)


def test_64_tags_are_not_too_many() -> None:
    tags = bytes([64]) + b"".join(bytes([tag, 0]) for tag in range(64))

    _, offset = decode_request_header(
        memoryview(bytes.fromhex("0012 0003 00000001 ffff") + tags), flexible=True
    )

    assert offset == 10 + len(tags)


@given(st.binary(max_size=40), st.booleans())
def test_arbitrary_bytes_are_a_header_or_malformed(frame: bytes, flexible: bool) -> None:
    view = memoryview(frame)
    for read in (decode_request_header, decode_response_header):
        try:
            _, offset = read(view, flexible)
        except Malformed:
            continue
        assert offset <= len(frame)


def test_a_frame_too_short_for_a_key_is_malformed() -> None:
    with pytest.raises(Malformed):
        peek(memoryview(b"\0\0\0"))
