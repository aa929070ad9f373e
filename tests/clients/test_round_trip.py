"""What one client sends, each client reads: byte for byte, whatever the codec."""

import random

import pytest

from .adapters import CLIENTS, Client, Record, Sending

NAMES = [client.name for client in CLIENTS]

RECORDS = (
    Record(b"key", b"value"),
    Record(None, b"null key"),
    Record(b"tombstone", None),
    Record(b"", b""),
    Record(bytes(range(256)), bytes(range(255, -1, -1)), timestamp=1_600_000_000_123),
    Record(b"h", b"v", (("a", b"\x00\xff"), ("b", b""), ("a", b"again"))),
    Record("ключ".encode(), "値".encode(), (("заголовок", "значение".encode()),)),
)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sender", CLIENTS, ids=NAMES)
def test_every_client_reads_what_one_has_sent(bootstrap: str, sender: Client, codec: str) -> None:
    topic = f"round-trip-{sender.name}-{codec}"

    sender.send(bootstrap, topic, RECORDS, Sending(codec))

    for reader in CLIENTS:
        assert reader.read(bootstrap, topic, 0, len(RECORDS)) == list(RECORDS), reader.name


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("sender", CLIENTS, ids=NAMES)
def test_a_record_of_1_mb_comes_back(bootstrap: str, sender: Client, codec: str) -> None:
    topic = f"large-{sender.name}-{codec}"
    records = [Record(b"large", random.Random(1).randbytes(1_000_000)), Record(b"next", b"small")]

    sender.send(bootstrap, topic, records, Sending(codec))

    for reader in CLIENTS:
        assert reader.read(bootstrap, topic, 0, 2) == records, reader.name
