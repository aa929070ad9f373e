"""InitProducerId (22), v0-v5, and DescribeProducers (61), v0.

InitProducerId gives out a fresh id with epoch 0, whatever id and epoch were supplied (v3 on,
KIP-360): clients raise epochs by themselves. Half of that pair is 42, and so is an empty
transactional id. A transactional id is 53 with -1 and -1: the one code on which every client stops
at once; 35 and 15 are retried for ever. DescribeProducers lists every unexpired entry; a producer
without idempotence leaves none.
"""

import logging

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.producers import (
    DESCRIBE_PRODUCERS,
    INIT_PRODUCER_ID,
    DescribeProducersRequest,
    DescribeProducersResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)
from minibroker.storage.partition import Partition
from minibroker.storage.topic_names import name_problem

from ..client import Call
from ..registry import serve

logger = logging.getLogger(__name__)

_SEQUENCE_MASK = 2**31 - 1


def init_producer_id(request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse:
    """A fresh producer id, or why there is none."""
    if request.transactional_id:
        logger.warning(
            "client id %r asked for transactional.id %r: transactions are not supported",
            call.client_id,
            request.transactional_id,
        )
        return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    is_half_a_pair = (request.producer_id == -1) != (request.producer_epoch == -1)
    if request.transactional_id == "" or is_half_a_pair:
        logger.warning(
            "client id %r sent transactional.id %r, producer id %d and epoch %d to InitProducerId:"
            " expected null, and both of the pair or none",
            call.client_id,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
        )
        return _refused(ErrorCode.INVALID_REQUEST)
    producer_id = call.services.catalog.producer_ids.allocate()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refused(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=-1, producer_epoch=-1)


def describe_producers(request: DescribeProducersRequest, call: Call) -> DescribeProducersResponse:
    """Who has written idempotently to these partitions."""
    return DescribeProducersResponse(
        topics=tuple(
            TopicResponse(
                name=topic.name,
                partitions=tuple(
                    _partition(topic, index, call) for index in topic.partition_indexes
                ),
            )
            for topic in request.topics
        )
    )


def _partition(wanted: TopicRequest, index: int, call: Call) -> PartitionResponse:
    problem = name_problem(wanted.name)
    topic = call.services.catalog.find(wanted.name)
    partition = topic.partition(index) if topic else None
    if partition is not None:
        return PartitionResponse(partition_index=index, active_producers=_active(partition, call))
    return PartitionResponse(
        partition_index=index,
        error_code=(
            ErrorCode.INVALID_TOPIC_EXCEPTION if problem else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ),
        error_message=problem or f"there is no partition {index} of a topic {wanted.name!r}",
        active_producers=(),
    )


def _active(partition: Partition, call: Call) -> tuple[ProducerState, ...]:
    return tuple(
        ProducerState(
            producer_id=producer_id,
            producer_epoch=entry.producer_epoch,
            last_sequence=(entry.next_sequence - 1) & _SEQUENCE_MASK,
            last_timestamp=entry.last_timestamp,
            coordinator_epoch=-1,
        )
        for producer_id, entry in partition.producers.unexpired(call.services.clock.now_ms())
    )


APIS = (
    serve(INIT_PRODUCER_ID, init_producer_id),
    serve(DESCRIBE_PRODUCERS, describe_producers, max_request_bytes=256 * 1024),
)
