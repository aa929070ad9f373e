"""Batches as the builders of kafka-python and aiokafka make them, and as their readers see them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from aiokafka.record.default_records import (
    DefaultRecordBatch as AiokafkaBatch,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from kafka.record.default_records import (
    DefaultRecordBatch as KafkaPythonBatch,
)
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder


class Sent(NamedTuple):
    """A record in the words of both clients: header names are text."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Client(Protocol):
    """One library: what it writes, and what it makes of a batch whose CRC it has checked."""

    def write(self, records: Sequence[Sent], codec: int, producer_id: int) -> bytes: ...

    def read(self, batch: bytes) -> list[tuple[int, Sent]]: ...


class KafkaPython:
    def write(self, records: Sequence[Sent], codec: int, producer_id: int) -> bytes:
        builder = KafkaPythonBuilder(2, codec, False, producer_id, 3, 17, 1 << 30)
        for offset, record in enumerate(records):
            builder.append(offset, *record[:3], list(record.headers))
        return bytes(builder.build())

    def read(self, batch: bytes) -> list[tuple[int, Sent]]:
        return _read(KafkaPythonBatch(batch))


class Aiokafka:
    def write(self, records: Sequence[Sent], codec: int, producer_id: int) -> bytes:
        builder = AiokafkaBuilder(2, codec, 0, producer_id, 3, 17, 1 << 30)
        for offset, record in enumerate(records):
            builder.append(offset, *record[:3], list(record.headers))
        return bytes(builder.build())

    def read(self, batch: bytes) -> list[tuple[int, Sent]]:
        return _read(AiokafkaBatch(batch))


class _ReadRecord(Protocol):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class _ReadBatch(Protocol):
    def validate_crc(self) -> bool: ...

    def __iter__(self) -> Iterator[_ReadRecord]: ...


def _read(batch: _ReadBatch) -> list[tuple[int, Sent]]:
    assert batch.validate_crc()
    return [(r.offset, Sent(r.timestamp, r.key, r.value, tuple(r.headers))) for r in batch]


CLIENTS: tuple[Client, ...] = (KafkaPython(), Aiokafka())
