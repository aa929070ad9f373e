"""Fuzz target: a frame body is a request that can be written again, or it is Malformed.

python -m tests.fuzz.fuzz_frame [seconds]
"""

from pathlib import Path

from minibroker.protocol.errors import Malformed
from minibroker.protocol.headers import decode_request_header, encode_request_header, peek
from minibroker.protocol.messages import all_schemas

from .explorer import Target, main

SCHEMAS = {schema.key: schema for schema in all_schemas()}


def check_frame(frame: bytes) -> bool:
    """Whether it is a request of a declared API. Raises: whatever shows a bug."""
    view = memoryview(frame)
    try:
        key, version = peek(view)
        schema = SCHEMAS.get(key)
        if schema is None or not schema.oldest <= version <= schema.newest:
            return False
        flexible = schema.is_flexible(version)
        header, offset = decode_request_header(view, flexible)
        request = schema.decode_request(version, view, offset)
    except Malformed:
        return False

    head = encode_request_header(header, flexible)
    body = schema.encode_request(version, request)
    again, offset = decode_request_header(memoryview(head + body), flexible)
    assert (again, offset) == (header, len(head))
    repeated = schema.decode_request(version, memoryview(head + body), offset)
    assert schema.encode_request(version, repeated) == body
    return True


FRAMES = Target("frame", Path(__file__).parent / "frame_corpus", check_frame)

if __name__ == "__main__":
    main(FRAMES)
