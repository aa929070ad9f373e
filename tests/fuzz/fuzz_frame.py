"""Fuzz target: a frame body is a request that can be written again, or it is Malformed.

    python -m tests.fuzz.fuzz_frame [seconds]

With atheris installed it is guided by coverage, otherwise by chance; both start from frame_corpus/.
A frame that breaks the invariant is written to the working directory, and belongs in the corpus.
"""

import sys
import time
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from minibroker.protocol.errors import Malformed
from minibroker.protocol.headers import decode_request_header, encode_request_header, peek
from minibroker.protocol.messages import all_schemas

CORPUS = Path(__file__).parent / "frame_corpus"
SCHEMAS = {schema.key: schema for schema in all_schemas()}
MAX_BYTES = 4096


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


def seeds() -> list[bytes]:
    return [file.read_bytes() for file in sorted(CORPUS.iterdir())]


def mutated(frame: bytes, others: list[bytes], random: Random) -> bytes:
    """The frame after a few changes of the kinds that matter to a decoder."""
    body = bytearray(frame)
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(body))
        match random.randint(0, 5):
            case 0:
                body[at : at + 1] = random.randbytes(1)
            case 1:
                body[at:at] = random.randbytes(random.randint(1, 8))
            case 2:
                del body[at : at + random.randint(1, 8)]
            case 3:
                body[at : at + 4] = random.choice([b"\x7f\xff\xff\xff", b"\xff" * 5, b"\x80" * 5])
            case 4:
                body[at : at + 1] = bytes([random.choice((0, 1, 2, 0x40, 0x41, 0x7F, 0x80, 0xFF))])
            case _:
                body[at:] = random.choice(others)[at:]
    return bytes(body[:MAX_BYTES])


def explore(seconds: float, seed: int) -> int:
    """Mutates corpus frames by chance; the number of frames tried."""
    random, pool, tried = Random(seed), seeds(), 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = mutated(random.choice(pool), pool, random)
        try:
            is_request = check_frame(frame)
        except BaseException:
            Path(f"frame-{sha256(frame).hexdigest()[:12]}").write_bytes(frame)
            raise
        tried += 1
        if is_request and len(pool) < 5000 and random.random() < 0.05:
            pool.append(frame)
    return tried


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    try:
        atheris = import_module("atheris")
    except ImportError:
        seed = time.time_ns()
        sys.stdout.write(f"no atheris: chance with seed {seed}\n")
        sys.stdout.write(f"{explore(seconds, seed)} frames, nothing found\n")
        return
    atheris.instrument_all()
    with TemporaryDirectory() as found:  # libFuzzer writes what it finds into the first directory
        options = [f"-max_total_time={seconds:.0f}", found, str(CORPUS)]
        atheris.Setup([sys.argv[0], *options], check_frame)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
