"""Produce (0), v3-v13 (advertised from 0, KAFKA-18659): appends batches, each partition for itself.

Order: acks in {-1, 0, 1} else 21 for every partition; a transactional_id or a transactional batch:
53 for the whole request; then per partition what `Partition.append` says. An unknown topic or
partition is 3, by id 100, an internal topic 17; a partition named twice is 42 and nothing of it is
written. Produce creates no topic. v5 brings the log start offset; v8 (KIP-467) record_errors and
error_message; v9 compact lengths; v10 (KIP-951) the current leader, left out here: there is one
node; v13 (KIP-516) topic ids instead of names. acks=0 gets no answer; where something failed its
connection is closed instead, so that the client notices.
"""

from collections import Counter

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.produce import (
    PRODUCE,
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from minibroker.protocol.types import ZERO_TOPIC_ID
from minibroker.storage.batch_checks import is_transactional
from minibroker.storage.catalog import Topic
from minibroker.storage.outcome import NotWritten, Outcome, Written
from minibroker.storage.partition import Partition, Sender, note_turned_away

from ..client import Call, Hangup
from ..registry import serve

BY_ID_SINCE = 13
ACKS = (-1, 0, 1)


def handle(request: ProduceRequest, call: Call) -> ProduceResponse | None:
    """Append what can be appended; one answer per partition."""
    refusal = _request_problem(request)
    responses = tuple(_topic_response(topic, refusal, call) for topic in request.topic_data)
    if request.acks != 0:
        return ProduceResponse(responses=responses)
    for topic in responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                raise Hangup(
                    f"acks=0 and {topic.name}-{partition.index} failed with"
                    f" {ErrorCode(partition.error_code).name}: {partition.error_message}"
                )
    return None


def _request_problem(request: ProduceRequest) -> NotWritten | None:
    """What refuses every partition of the request."""
    if request.acks not in ACKS:
        return NotWritten(
            ErrorCode.INVALID_REQUIRED_ACKS, f"expected acks -1, 0 or 1, got {request.acks}"
        )
    if request.transactional_id is not None or any(
        is_transactional(partition.records)
        for topic in request.topic_data
        for partition in topic.partition_data
    ):
        return NotWritten(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "transactions are not supported by this broker: produce without a transactional.id",
        )
    return None


def _topic_response(
    wanted: TopicProduceData, refusal: NotWritten | None, call: Call
) -> TopicProduceResponse:
    topic, unknown = _find(wanted, call)
    counts = Counter(partition.index for partition in wanted.partition_data)
    answers = []
    for data in wanted.partition_data:
        partition = topic.partition(data.index) if topic else None
        outcome: Outcome
        if refusal:
            outcome = refusal
        elif partition is None or topic is None:
            outcome = unknown
            _note_unknown(wanted, data, call)
        elif topic.is_internal:
            outcome = NotWritten(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic.name} is internal: clients do not write"
            )
        elif counts[data.index] > 1:
            outcome = NotWritten(
                ErrorCode.INVALID_REQUEST, f"partition {data.index} is named twice in one request"
            )
        else:
            outcome = _append(partition, data, call)
        answers.append(partition_response(data.index, partition, outcome))
    return TopicProduceResponse(
        name=wanted.name, topic_id=wanted.topic_id, partition_responses=tuple(answers)
    )


def _append(partition: Partition, data: PartitionProduceData, call: Call) -> Outcome:
    records = data.records
    assert records is None or isinstance(records, memoryview)  # decoded: a view of the frame
    sender = Sender(call.api_version, call.client.turned_away)
    return partition.append(records, sender, call.services.clock.now_ms())


def _find(wanted: TopicProduceData, call: Call) -> tuple[Topic | None, NotWritten]:
    """The topic, and what to answer for a partition that is not there."""
    catalog = call.services.catalog
    if call.api_version >= BY_ID_SINCE:
        topic = catalog.find_by_id(wanted.topic_id)
        if topic is None:
            return None, NotWritten(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
    else:
        topic = catalog.find(wanted.name)
    name = topic.name if topic else wanted.name
    return topic, NotWritten(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no such partition of a topic {name!r}"
    )


def _note_unknown(wanted: TopicProduceData, data: PartitionProduceData, call: Call) -> None:
    """An idempotent batch for a topic that is gone, or not there yet, will come again."""
    name: str | None = wanted.name
    if wanted.topic_id != ZERO_TOPIC_ID:
        name = call.services.catalog.former_name(wanted.topic_id)
    if name is not None and data.records is not None:
        note_turned_away(call.client.turned_away, name, data.index, memoryview(data.records))


def partition_response(
    index: int, partition: Partition | None, outcome: Outcome
) -> PartitionProduceResponse:
    """The answer for one partition, with the real log start offset whatever the outcome."""
    log_start_offset = partition.log.log_start_offset if partition else -1
    if isinstance(outcome, Written):
        return PartitionProduceResponse(
            index=index,
            base_offset=outcome.base_offset,
            log_append_time_ms=outcome.log_append_time_ms,
            log_start_offset=log_start_offset,
        )
    return PartitionProduceResponse(
        index=index,
        error_code=outcome.error_code,
        base_offset=-1,
        log_start_offset=log_start_offset,
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=message)
            for at, message in outcome.record_errors
        ),
        error_message=outcome.message,
    )


# Its bound is socket.request.max.bytes: a batch is answered with less than it has.
APIS = (serve(PRODUCE, handle, max_request_bytes=2**31),)
