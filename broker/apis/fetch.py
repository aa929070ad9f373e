"""Fetch (1), v4-v18: whole batches from an offset on, now or when there are enough of them.

The first batch of an answer is whole, however large; behind it max_bytes holds for the request and
partition_max_bytes for each partition. Where min_bytes are not there the answer waits for
max_wait_ms, unless a partition has an error. Each answer carries high watermark, last stable offset
(the same: there are no transactions) and log start offset. Records are views of the log: nothing is
copied; a partition answers from one piece of its log at a time, so there may be less than the
client allows. v7 (KIP-227) brings sessions: session id 0 says that there is none, and every request
names what it wants. v9 (KIP-320) checks the client's leader epoch, v10 reads zstd (below it is 76),
v13 (KIP-516) asks by topic id.
"""

import asyncio
from typing import NamedTuple

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.fetch import (
    FETCH,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from minibroker.protocol.records import ATTRIBUTES_AT, CODEC_MASK
from minibroker.storage.partition import Partition

from ..client import Call
from ..registry import serve
from .leader_epoch import leader_epoch_problem

BY_ID_SINCE = 13
ZSTD, ZSTD_SINCE = 4, 10


class _Wanted(NamedTuple):
    """One partition of the request, and what is there of it."""

    asked: FetchPartition
    partition: Partition | None
    error_code: ErrorCode

    @property
    def available_bytes(self) -> int:
        """What could be read now."""
        if self.partition is None or self.error_code:
            return 0
        log = self.partition.log
        return log.bytes_between(self.asked.fetch_offset, self.partition.high_watermark)


_Found = list[tuple[FetchTopic, list[_Wanted]]]


def handle(request: FetchRequest, call: Call) -> FetchResponse | asyncio.Future[FetchResponse]:
    """Read, and wait first where there is too little."""
    if problem := _session_problem(request):
        return FetchResponse(error_code=problem, responses=())
    found = _find(request, call)
    wanted = [one for _, partitions in found for one in partitions]
    if request.max_wait_ms <= 0 or not wanted or _is_enough(request, wanted):
        return _read(request, found, call)
    watched = [one.partition for one in wanted if one.partition]
    wait = call.services.long_polls.wait(
        watched,
        lambda: _is_enough(request, [_look(one.asked, one.partition, call) for one in wanted]),
        request.max_wait_ms / 1000,
    )
    answer: asyncio.Future[FetchResponse] = wait.get_loop().create_future()

    def read(waited: asyncio.Future[None]) -> None:
        if not waited.cancelled() and not answer.done():
            answer.set_result(_read(request, _find(request, call), call))

    def withdraw(_: asyncio.Future[FetchResponse]) -> None:
        wait.cancel()

    wait.add_done_callback(read)
    answer.add_done_callback(withdraw)
    return answer


def _session_problem(request: FetchRequest) -> ErrorCode:
    """There are no sessions here, so none can be continued."""
    if request.session_id != 0 and request.session_epoch > 0:
        return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    return ErrorCode.NONE


def _is_enough(request: FetchRequest, wanted: list[_Wanted]) -> bool:
    if any(one.error_code for one in wanted):
        return True
    return sum(one.available_bytes for one in wanted) >= request.min_bytes


def _find(request: FetchRequest, call: Call) -> _Found:
    catalog = call.services.catalog
    found: _Found = []
    for asked_topic in request.topics:
        if call.api_version >= BY_ID_SINCE:
            topic, missing = catalog.find_by_id(asked_topic.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic = catalog.find(asked_topic.topic)
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic:
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        found.append(
            (
                asked_topic,
                [
                    _look(asked, topic.partition(asked.partition) if topic else None, call, missing)
                    for asked in asked_topic.partitions
                ],
            )
        )
    return found


def _look(
    asked: FetchPartition,
    partition: Partition | None,
    call: Call,
    missing: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
) -> _Wanted:
    if partition is None or partition.is_deleted:
        return _Wanted(asked, None, missing)
    problem = leader_epoch_problem(asked.current_leader_epoch, partition)
    if not partition.log.log_start_offset <= asked.fetch_offset <= partition.high_watermark:
        problem = problem or ErrorCode.OFFSET_OUT_OF_RANGE
    return _Wanted(asked, partition, problem)


def _read(request: FetchRequest, found: _Found, call: Call) -> FetchResponse:
    left_bytes = min(request.max_bytes, call.services.config.fetch_max_bytes)
    is_first = True
    topics = []
    for asked_topic, wanted in found:
        answers = []
        for one in wanted:
            records = None
            if one.partition is not None and not one.error_code:
                limit = min(left_bytes, one.asked.partition_max_bytes)
                records = _records(one, limit, may_exceed=is_first)
                if records:
                    left_bytes -= len(records)
                    is_first = False
            answers.append(_answer(one, records, call))
        topics.append(
            FetchableTopicResponse(
                topic=asked_topic.topic, topic_id=asked_topic.topic_id, partitions=tuple(answers)
            )
        )
    return FetchResponse(responses=tuple(topics))


def _records(one: _Wanted, limit: int, *, may_exceed: bool) -> memoryview | None:
    """What is there from the offset on; above the limit only one batch, and only the first."""
    assert one.partition is not None
    if limit <= 0 and not may_exceed:
        return None
    views = one.partition.log.read(one.asked.fetch_offset, limit, one.partition.high_watermark)
    if not views or (len(views[0]) > limit and not may_exceed):
        return None
    return views[0]


def _answer(one: _Wanted, records: memoryview | None, call: Call) -> PartitionData:
    index = one.asked.partition
    if one.partition is None:
        return PartitionData(
            partition_index=index,
            error_code=one.error_code,
            high_watermark=-1,
            aborted_transactions=None,
            records=b"",
        )
    error_code = one.error_code
    if records and call.api_version < ZSTD_SINCE and _has_zstd(records):
        records, error_code = None, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return PartitionData(
        partition_index=index,
        error_code=error_code,
        high_watermark=one.partition.high_watermark,
        last_stable_offset=one.partition.high_watermark,
        log_start_offset=one.partition.log.log_start_offset,
        aborted_transactions=None,
        records=b"" if records is None else records,
    )


def _has_zstd(records: memoryview) -> bool:
    """Whether the first batch is compressed with zstd; a topic's batches are mostly alike."""
    return records[ATTRIBUTES_AT + 1] & CODEC_MASK == ZSTD


APIS = (serve(FETCH, handle),)
