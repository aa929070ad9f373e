"""What all fuzz targets share: changes by chance, a time limit, and atheris where it is installed.

Input that breaks the invariant is written to the working directory, and belongs in the corpus.
"""

import sys
import time
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

MAX_BYTES = 4096


class Target(NamedTuple):
    """A check of one input, whether it was accepted; it raises whatever shows a bug."""

    name: str
    corpus: Path
    check: Callable[[bytes], bool]

    def seeds(self) -> list[bytes]:
        """The corpus."""
        return [file.read_bytes() for file in sorted(self.corpus.iterdir())]


def mutated(one: bytes, others: list[bytes], random: Random) -> bytes:
    """The input after a few changes of the kinds that matter to a decoder."""
    body = bytearray(one)
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


def explore(target: Target, seconds: float, seed: int) -> int:
    """Mutates the corpus by chance; the number of inputs tried."""
    random, pool, tried = Random(seed), target.seeds(), 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        one = mutated(random.choice(pool), pool, random)
        try:
            is_accepted = target.check(one)
        except BaseException:
            Path(f"{target.name}-{sha256(one).hexdigest()[:12]}").write_bytes(one)
            raise
        tried += 1
        if is_accepted and len(pool) < 5000 and random.random() < 0.05:
            pool.append(one)
    return tried


def main(target: Target) -> None:
    """Explore for the seconds of the command line, a minute if it has none."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    try:
        atheris = import_module("atheris")
    except ImportError:
        seed = time.time_ns()
        sys.stdout.write(f"no atheris: chance with seed {seed}\n")
        sys.stdout.write(f"{explore(target, seconds, seed)} inputs, nothing found\n")
        return
    atheris.instrument_all()
    with TemporaryDirectory() as found:  # libFuzzer writes what it finds into the first directory
        options = [f"-max_total_time={seconds:.0f}", found, str(target.corpus)]
        atheris.Setup([sys.argv[0], *options], target.check)
        atheris.Fuzz()
