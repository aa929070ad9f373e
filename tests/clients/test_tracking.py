"""The seed's measured output: an idempotent producer is tracked, one with acks=1 is not."""

import asyncio

import pytest

from minibroker.protocol.messages.producers import (
    DESCRIBE_PRODUCERS,
    DescribeProducersRequest,
    ProducerState,
    TopicRequest,
)
from tests.wire import connected

from .adapters import CLIENTS, PLAIN, Client, Record, Sending

RECORDS = [Record(None, b"v")] * 3


async def tracked(bootstrap: str, topic: str) -> tuple[ProducerState, ...]:
    request = DescribeProducersRequest(topics=(TopicRequest(name=topic, partition_indexes=(0,)),))
    async with connected(bootstrap) as wire:
        response = await wire.call(DESCRIBE_PRODUCERS, 0, request)
    return response.topics[0].partitions[0].active_producers


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_an_idempotent_producer_is_tracked_with_id_epoch_and_last_sequence(
    bootstrap: str, client: Client
) -> None:
    topic = f"tracked-{client.name}"

    client.send(bootstrap, topic, RECORDS, PLAIN)

    (state,) = asyncio.run(tracked(bootstrap, topic))
    assert state.producer_id > 0
    assert (state.producer_epoch, state.last_sequence) == (0, len(RECORDS) - 1)


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_a_producer_with_acks_1_leaves_nothing(bootstrap: str, client: Client) -> None:
    topic = f"untracked-{client.name}"

    client.send(bootstrap, topic, RECORDS, Sending(is_idempotent=False))

    assert asyncio.run(tracked(bootstrap, topic)) == ()
