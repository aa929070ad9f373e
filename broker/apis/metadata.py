"""Metadata (3), v0-v13: which topics there are, and which address to talk to.

A null list means every topic, and so does an empty one in v0. A name that is not there is created
where the request (v4 on) and auto.create.topics.enable allow it; an illegal name is 17, so that
clients stop asking, and so is one that collides with a topic's. What is named twice is answered
once. v8 (KIP-430) tells who asks for it what it may do: everything. v10 (KIP-516) brings topic ids:
an unknown one is 100; v12 asks by id without a name. The one broker has the advertised address of
the listener that the client came in by. Trailing bytes are ignored: librdkafka's v9+ leaves 3
behind.
"""

from msgspec.structs import replace

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.metadata import (
    METADATA,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from minibroker.protocol.types import ZERO_TOPIC_ID, TopicId
from minibroker.storage.catalog import Topic
from minibroker.storage.topic_names import name_problem

from ..client import Call
from ..registry import serve
from .authorized_operations import NOT_ASKED_FOR, ON_CLUSTER, ON_TOPIC

NAME_IS_NULLABLE_SINCE = 12


def handle(request: MetadataRequest, call: Call) -> MetadataResponse:
    """Describe the cluster and the topics that were asked for."""
    config, listener = call.services.config, call.client.listener
    wants_all = request.topics is None or (call.api_version == 0 and not request.topics)
    if wants_all:
        topics = [_described(topic, call) for topic in call.services.catalog.topics()]
    else:
        wanted_once = {(topic.topic_id, topic.name): topic for topic in request.topics or ()}
        topics = [_answer(wanted, request, call) for wanted in wanted_once.values()]
    if request.include_topic_authorized_operations:
        topics = [replace(topic, topic_authorized_operations=ON_TOPIC) for topic in topics]
    asks_for_cluster = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=(
            MetadataResponseBroker(
                node_id=config.node_id,
                host=listener.advertised_host,
                port=listener.advertised_port,
                rack=config.rack,
            ),
        ),
        cluster_id=call.services.cluster_id,
        controller_id=config.node_id,
        topics=tuple(topics),
        cluster_authorized_operations=ON_CLUSTER if asks_for_cluster else NOT_ASKED_FOR,
    )


def _answer(
    wanted: MetadataRequestTopic, request: MetadataRequest, call: Call
) -> MetadataResponseTopic:
    catalog, config = call.services.catalog, call.services.config
    if wanted.topic_id != ZERO_TOPIC_ID or wanted.name is None:
        by_id = catalog.find_by_id(wanted.topic_id)
        if by_id is None:
            name = None if call.api_version >= NAME_IS_NULLABLE_SINCE else ""
            return _missing(ErrorCode.UNKNOWN_TOPIC_ID, name, wanted.topic_id)
        return _described(by_id, call)
    if name_problem(wanted.name):
        return _missing(ErrorCode.INVALID_TOPIC_EXCEPTION, wanted.name)
    topic = catalog.find(wanted.name)
    if topic is None:
        if not (request.allow_auto_topic_creation and config.auto_creates_topics):
            return _missing(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, wanted.name)
        if catalog.colliding(wanted.name):
            return _missing(ErrorCode.INVALID_TOPIC_EXCEPTION, wanted.name)
        topic = catalog.create(wanted.name, config.num_partitions, {})
    return _described(topic, call)


def _missing(
    error_code: ErrorCode, name: str | None, topic_id: TopicId = ZERO_TOPIC_ID
) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error_code, name=name, topic_id=topic_id, partitions=())


def _described(topic: Topic, call: Call) -> MetadataResponseTopic:
    here = (call.services.config.node_id,)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(
            MetadataResponsePartition(
                partition_index=partition.index,
                leader_id=here[0],
                leader_epoch=partition.log.leader_epoch,
                replica_nodes=here,
                isr_nodes=here,
            )
            for partition in topic.partitions
        ),
    )


APIS = (serve(METADATA, handle),)
