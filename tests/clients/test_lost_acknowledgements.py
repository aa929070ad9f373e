"""The connection is cut between append and answer, again and again: each record is there once."""

import asyncio

import pytest

from minibroker.config import Config
from minibroker.server import Server
from minibroker.services import Environment
from tests.lossy_sockets import LossySockets

from .adapters import CLIENTS, Client, Record

RECORDS = 600
EVERY = 3
"""Of so many answers to appends one is lost."""


class Losses:
    """Loses answers that would acknowledge something new, and counts."""

    def __init__(self) -> None:
        self.end_offset = 0
        self.acknowledged = 0
        self.lost = 0
        self.server = Server(Config.of(topic="lossy"), Environment(sockets=LossySockets(self)))

    @property
    def log_end(self) -> int:
        return self.server.services.catalog.topics()[0].partitions[0].log.end_offset

    def __call__(self) -> bool:
        if self.log_end == self.end_offset:
            return False
        self.end_offset = self.log_end
        self.acknowledged += 1
        is_lost = self.acknowledged % EVERY == 0
        self.lost += is_lost
        return is_lost


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
async def test_every_record_is_there_once_and_in_order(client: Client) -> None:
    losses = Losses()
    await losses.server.start()
    bootstrap = losses.server.bootstrap
    records = [Record(None, b"%d" % number) for number in range(RECORDS)]
    try:
        for start in range(0, RECORDS, 50):  # in pieces, for more answers that can be lost
            piece = records[start : start + 50]
            await asyncio.to_thread(client.send, bootstrap, "lossy", piece, "none")
        got = await asyncio.to_thread(client.read, bootstrap, "lossy", 0, RECORDS)
    finally:
        await losses.server.stop()

    assert [record.value for record in got] == [record.value for record in records]
    assert losses.log_end == RECORDS
    assert losses.lost >= 4, "too few answers were lost to have tried anything"
