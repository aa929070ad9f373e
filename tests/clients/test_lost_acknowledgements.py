"""The connection is cut between append and answer, again and again: each record is there once."""

import asyncio
from collections.abc import Sequence

import pytest

from minibroker.config import Config
from minibroker.server import Server
from minibroker.services import Environment
from tests.lossy_sockets import LossySockets

from .adapters import CLIENTS, Client, Record, Sending

NAMES = [client.name for client in CLIENTS]
PARTITIONS = 2
BATCH_BYTES = 150
"""A handful of records, so that several batches are on their way when one is cut off."""
EVERY = 3
"""Of so many answers to appends one is lost."""
ENOUGH_LOSSES = 30
RECORDS = [
    Record(b"%d" % number, b"value %d" % number, partition=number % PARTITIONS)
    for number in range(1_000)
]


class Losses:
    """A broker that loses answers which would acknowledge something new, and counts."""

    def __init__(self) -> None:
        self.seen_records = 0
        self.answers = 0
        self.lost = 0
        self.server = Server(
            Config.of(topic=f"lossy:{PARTITIONS}"), Environment(sockets=LossySockets(self))
        )

    @property
    def records(self) -> int:
        """How many are in the log."""
        (topic,) = self.server.services.catalog.topics()
        return sum(partition.log.end_offset for partition in topic.partitions)

    def __call__(self) -> bool:
        if self.records == self.seen_records:
            return False
        self.seen_records = self.records
        self.answers += 1
        is_lost = self.answers % EVERY == 0
        self.lost += is_lost
        return is_lost


async def sent_with_losses(client: Client, how: Sending) -> tuple[Losses, list[Sequence[Record]]]:
    """What is read from each partition after one producer has sent all records."""
    losses = Losses()
    await losses.server.start()
    bootstrap = losses.server.bootstrap
    try:
        await asyncio.to_thread(client.send, bootstrap, "lossy", RECORDS, how)
        (topic,) = losses.server.services.catalog.topics()
        got: list[Sequence[Record]] = [
            await asyncio.to_thread(
                client.read, bootstrap, "lossy", partition.index, partition.log.end_offset
            )
            for partition in topic.partitions
        ]
    finally:
        await losses.server.stop()
    return losses, got


@pytest.mark.parametrize("client", CLIENTS, ids=NAMES)
async def test_every_record_is_there_once_and_in_order(client: Client) -> None:
    losses, got = await sent_with_losses(client, Sending(batch_bytes=BATCH_BYTES))

    assert got == [RECORDS[partition::PARTITIONS] for partition in range(PARTITIONS)]
    assert losses.lost >= ENOUGH_LOSSES, "too few answers were lost to have tried anything"


@pytest.mark.parametrize("client", CLIENTS, ids=NAMES)
async def test_without_idempotence_the_same_losses_write_records_again(client: Client) -> None:
    losses, _ = await sent_with_losses(
        client, Sending(batch_bytes=BATCH_BYTES, is_idempotent=False)
    )

    assert losses.records > len(RECORDS), "then the test above shows nothing"
