"""The common Produce, again: one partition, like a request before it on the same connection.

A producer sends request after request that differ only in the correlation id and in the batch. What
stands before the batch (the route) is looked at once; from then on one unpack and one pack for each
request do what codec and handler do, and a `Run` what `Partition.append` does, with the same
answers (tests/broker/test_produce_shortcut.py compares them). Whatever is unusual takes the long
way.
"""

from struct import Struct
from typing import NamedTuple

from minibroker.protocol.messages.produce import (
    PRODUCE,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from minibroker.protocol.records import HEADER_BYTES
from minibroker.protocol.varint import write_uvarint
from minibroker.storage.engine import Buffer
from minibroker.storage.partition import Partition, Sender
from minibroker.storage.run import NOT_TAKEN, Run

from ..client import Call, Client
from ..services import Services
from .produce import BY_ID_SINCE

_MAX_ROUTES = 1024
_BATCH_FIELDS = "qi4xbIhiqqqhii"
"""BATCH_HEADER without the leader epoch, which the broker sets."""
_ROUTE_AT = 8
_INT = Struct(">i")
_TAGS = b"\0\0\0"
"""What stands behind the records in a flexible version: no tags of partition, topic and request."""
_OFFSET_MARK = b"\xfe\xdc\xba\x98\x76\x54\x32\x10"
_OFFSET_MARK_VALUE = int.from_bytes(_OFFSET_MARK, "big", signed=True)


class _Route(NamedTuple):
    """Where a batch goes, and what stands around the offsets in the answer."""

    key: bytes
    """What stands between the correlation id and the size of the records."""
    partition: Partition
    sender: Sender
    answer: Struct
    answer_bytes: int
    before_offsets: bytes
    behind_offsets: bytes


class _Layout(NamedTuple):
    """Where everything is in a frame whose route, and whose size of the records, have these
    lengths.
    """

    version: int
    first_word: int
    """The API key and version."""
    fields: Struct
    records_at: int
    tags: bytes

    @property
    def shape(self) -> tuple[int, str]:
        """Equal for frames that one layout fits."""
        return self.first_word, self.fields.format

    def sized(self, size: int) -> bytes:
        """The size of records as it stands in front of them."""
        return write_uvarint(size + 1) if self.tags else _INT.pack(size)


class ProduceShortcut:
    """The routes of one connection, all of the layout that came last."""

    __slots__ = ("_client", "_last", "_layout", "_routes", "_services", "_sized")

    def __init__(self, services: Services, client: Client) -> None:
        self._services = services
        self._client = client
        self._layout: _Layout | None = None
        self._routes: dict[bytes, _Route] = {}
        self._last: tuple[_Route | None, Run | None] = (None, None)
        """Where the last request went, and its run, which the next one most often resumes."""
        self._sized = (-1, b"")
        """A batch_length, and the size of such records as it stands in front of them."""

    def answer(self, view: memoryview, start: int, end: int, answers: list[Buffer]) -> int:
        """Handle the common requests from `start` on; where the first other, or cut, frame begins.

        The whole answers are appended to `answers`.
        """
        layout = self._layout
        if layout is None or end - start < layout.fields.size:
            return start
        _, first_word, fields, records_at, tags = layout
        unpack, least, tags_bytes = fields.unpack_from, fields.size + len(tags), len(tags)
        now_ms = self._services.clock.now_ms()
        route, run = self._resume(now_ms)
        sized_length, sized = self._sized
        try:
            while end - start >= least:
                (
                    size,
                    word,
                    correlation_id,
                    key,
                    length_bytes,
                    base_offset,
                    batch_length,
                    magic,
                    crc,
                    attributes,
                    last_offset_delta,
                    base_timestamp,
                    max_timestamp,
                    producer_id,
                    epoch,
                    first,
                    count,
                ) = unpack(view, start)
                stop = start + 4 + size
                records_end = start + records_at + 12 + batch_length
                if word != first_word or stop > end or records_end + tags_bytes != stop:
                    break  # another request, a cut one, or one that is not what it seems
                if batch_length != sized_length and batch_length >= 0:
                    sized_length, sized = batch_length, layout.sized(12 + batch_length)
                    self._sized = (sized_length, sized)
                if length_bytes != sized or view[records_end:stop] != tags:
                    break
                if (
                    run is None
                    or route is None
                    or route.key != key
                    or run.producer_id != producer_id
                ):
                    route, run = self._open(run, key, producer_id, now_ms)
                    if run is None or route is None:
                        break
                offset = run.append(
                    view[start + records_at : records_end],
                    base_offset,
                    magic,
                    crc,
                    attributes,
                    last_offset_delta,
                    base_timestamp,
                    max_timestamp,
                    epoch,
                    first,
                    count,
                )
                if offset == NOT_TAKEN:
                    break
                answers.append(
                    route.answer.pack(
                        route.answer_bytes,
                        correlation_id,
                        route.before_offsets,
                        offset,
                        -1,
                        route.partition.log.log_start_offset,
                        route.behind_offsets,
                    )
                )
                start = stop
        finally:
            self._last = (route, run)
            if run:
                run.close()
        return start

    def _resume(self, now_ms: int) -> tuple[_Route | None, Run | None]:
        """The last route and its run, if that can go on."""
        route, run = self._last
        if run is None or self._client.turned_away or not run.resume(now_ms):
            return None, None
        return route, run

    def _open(
        self, previous: Run | None, key: bytes, producer_id: int, now_ms: int
    ) -> tuple[_Route | None, Run | None]:
        """Close a run; another route and a run of a producer's batches there, if to be had."""
        if previous:
            previous.close()
        route = self._routes.get(key)
        if route is None or route.partition.is_deleted:
            return None, None
        return route, route.partition.run(producer_id, route.sender, now_ms)

    def learn(self, frame: memoryview, body_at: int, call: Call) -> None:
        """The long way has answered this frame: remember its route, if it is an ordinary one."""
        version = call.api_version
        if version < 5:
            return
        request = PRODUCE.decode_request(version, frame[body_at:])
        partition = self._only_partition(request, version)
        layout = self._layout_of(frame, request, version) if partition else None
        if partition is None or layout is None:
            return
        known = self._layout
        if known is None or layout.shape != known.shape or len(self._routes) == _MAX_ROUTES:
            self._routes = {}
            self._layout = layout
            self._last = (None, None)
            self._sized = (-1, b"")
        key = bytes(frame[_ROUTE_AT : layout.records_at - 4 - len(layout.sized(_size(request)))])
        self._routes[key] = self._route(key, partition, request, version)

    def _only_partition(self, request: ProduceRequest, version: int) -> Partition | None:
        """The partition of a request that is ordinary in every other respect."""
        if request.acks not in (-1, 1) or request.transactional_id is not None:
            return None
        if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
            return None
        wanted = request.topic_data[0]
        catalog = self._services.catalog
        by_id = version >= BY_ID_SINCE
        topic = catalog.find_by_id(wanted.topic_id) if by_id else catalog.find(wanted.name)
        if topic is None or topic.is_internal:
            return None
        return topic.partition(wanted.partition_data[0].index)

    def _layout_of(
        self, frame: memoryview, request: ProduceRequest, version: int
    ) -> _Layout | None:
        """None if something stands behind the records that is not usual."""
        size = _size(request)
        tags = _TAGS if PRODUCE.is_flexible(version) else b""
        records_at = 4 + len(frame) - len(tags) - size  # with the size of the frame in front
        if size < HEADER_BYTES or frame[len(frame) - len(tags) :] != tags:
            return None
        (first_word,) = _INT.unpack_from(frame)
        size_bytes = len(write_uvarint(size + 1)) if tags else 4
        route_bytes = records_at - 4 - _ROUTE_AT - size_bytes
        fields = Struct(f">iii{route_bytes}s{size_bytes}s{_BATCH_FIELDS}")
        return _Layout(version, first_word, fields, records_at, tags)

    def _route(
        self, key: bytes, partition: Partition, request: ProduceRequest, version: int
    ) -> _Route:
        wanted = request.topic_data[0]
        written = PartitionProduceResponse(
            index=partition.index,
            base_offset=_OFFSET_MARK_VALUE,
            log_append_time_ms=_OFFSET_MARK_VALUE,
            log_start_offset=_OFFSET_MARK_VALUE,
        )
        topic = TopicProduceResponse(
            name=wanted.name, topic_id=wanted.topic_id, partition_responses=(written,)
        )
        body = PRODUCE.encode_response(version, ProduceResponse(responses=(topic,)))
        before, marks, behind = body.partition(_OFFSET_MARK * 3)
        assert marks, "since v5 three offsets stand side by side in a Produce response"
        tags = "x" if PRODUCE.response_header_version(version) else ""
        answer = Struct(f">ii{tags}{len(before)}sqqq{len(behind)}s")
        sender = Sender(version, self._client.turned_away)
        return _Route(key, partition, sender, answer, answer.size - 4, before, behind)


def _size(request: ProduceRequest) -> int:
    """Of the only partition's records."""
    return len(request.topic_data[0].partition_data[0].records or b"")
