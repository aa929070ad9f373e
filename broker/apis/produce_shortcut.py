"""The common Produce, again: one partition, like a request before it on the same connection.

A producer sends request after request that differ only in the correlation id and in the batch. What stands
before the batch (the route) is looked at once; from then on one look-up, one unpack and one pack do what the
codec and the handler do, and give the same bytes (tests/broker/test_produce_shortcut.py compares the two).
Whatever is unusual takes the long way: an unknown route, several partitions, acks=0, a transaction.
"""

from struct import Struct
from typing import NamedTuple

from minibroker.protocol.errors import Malformed
from minibroker.protocol.messages.produce import (
    PRODUCE,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from minibroker.protocol.records import HEADER_BYTES, TRANSACTIONAL
from minibroker.protocol.types import TopicId
from minibroker.protocol.varint import read_uvarint, write_uvarint
from minibroker.storage.outcome import NotWritten
from minibroker.storage.partition import Partition, Sender

from ..client import Call, Client
from ..services import Services
from .produce import BY_ID_SINCE, partition_response

_MAX_ROUTES = 1024
_MAX_ROUTE_LENGTHS = 4
"""Topic names of so many different lengths are told apart on one connection; more take the long way."""
_ROUTE_AT = 8
_ATTRIBUTES_LOW_BYTE = 22
_HEAD = Struct(">ii")
_CORRELATION_AT = 4
_LENGTH = Struct(">i")
_TAGS_BEHIND_RECORDS = b"\0\0\0"
_OFFSET_MARK = b"\xfe\xdc\xba\x98\x76\x54\x32\x10"
(_OFFSET_MARK_VALUE,) = Struct(">q").unpack(_OFFSET_MARK)


class _Route(NamedTuple):
    """Where a batch goes, and what the answer around its offsets is."""

    partition: Partition
    sender: Sender
    topic_name: str
    topic_id: TopicId
    size: int
    before_offsets: bytes
    behind_offsets: bytes
    layout: Struct


class ProduceShortcut:
    """The routes of one connection."""

    __slots__ = ("_client", "_first_word", "_lengths", "_routes", "_services", "_version")

    def __init__(self, services: Services, client: Client) -> None:
        self._services = services
        self._client = client
        self._version = -1
        self._first_word = -1
        self._lengths: tuple[int, ...] = ()
        self._routes: dict[bytes, _Route] | None = None

    def answer(self, frame: memoryview) -> bytes | None:
        """Handle the frame and return the whole answer, or do nothing and return None."""
        if not self._routes or len(frame) < HEADER_BYTES:
            return None
        first_word, correlation_id = _HEAD.unpack_from(frame)
        if first_word != self._first_word:
            return None
        for length in self._lengths:
            if route := self._routes.get(bytes(frame[_ROUTE_AT:length])):
                break
        else:
            return None
        if route.partition.is_deleted:
            self._forget()
            return None
        records = self._records(frame, length)
        if records is None or records[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL:
            return None
        now_ms = self._services.clock.now_ms()
        outcome = route.partition.append(records, route.sender, now_ms)
        if isinstance(outcome, NotWritten):
            return self._refusal(route, correlation_id, outcome)
        log_start_offset = route.partition.log.log_start_offset
        base_offset, log_append_time_ms, _ = outcome
        return route.layout.pack(
            route.size,
            correlation_id,
            route.before_offsets,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            route.behind_offsets,
        )

    def learn(self, frame: memoryview, body_at: int, call: Call) -> None:
        """The long way has answered this frame: remember its route, if it is an ordinary one."""
        version = call.api_version
        if version < 5 or (self._routes is not None and version != self._version):
            return
        request = PRODUCE.decode_request(version, frame[body_at:])
        partition = self._only_partition(request, version)
        length = self._route_length(frame, request, version) if partition else None
        if partition is None or length is None:
            return
        routes = self._routes = {} if self._routes is None else self._routes
        if length not in self._lengths:
            if len(self._lengths) == _MAX_ROUTE_LENGTHS:
                return
            self._lengths += (length,)
        if len(routes) == _MAX_ROUTES:
            routes.clear()
        self._version = version
        (self._first_word,) = _LENGTH.unpack_from(frame)
        routes[bytes(frame[_ROUTE_AT:length])] = self._route(partition, request, version)

    def _forget(self) -> None:
        self._routes = None
        self._lengths = ()

    def _records(self, frame: memoryview, length: int) -> memoryview | None:
        """The batch, if nothing but the batch is behind the route."""
        if not PRODUCE.is_flexible(self._version):
            (size,) = _LENGTH.unpack_from(frame, length)
            records = frame[length + 4 :]
            return records if size == len(records) >= HEADER_BYTES else None
        try:
            size, start = read_uvarint(frame, length)
        except (Malformed, IndexError):
            return None
        records = frame[start:-3]
        if size - 1 != len(records) or size <= HEADER_BYTES or frame[-3:] != _TAGS_BEHIND_RECORDS:
            return None
        return records

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

    def _route_length(self, frame: memoryview, request: ProduceRequest, version: int) -> int | None:
        """Where the size of the records stands; None if the rest of the frame is not as it should be."""
        records = request.topic_data[0].partition_data[0].records
        if records is None:
            return None
        if PRODUCE.is_flexible(version):
            rest = [write_uvarint(len(records) + 1), records, _TAGS_BEHIND_RECORDS]
        else:
            rest = [_LENGTH.pack(len(records)), records]
        length = len(frame) - sum(map(len, rest))
        return length if length > 0 and frame[length:] == b"".join(rest) else None

    def _route(self, partition: Partition, request: ProduceRequest, version: int) -> _Route:
        wanted = request.topic_data[0]
        success = PartitionProduceResponse(
            index=partition.index,
            base_offset=_OFFSET_MARK_VALUE,
            log_append_time_ms=_OFFSET_MARK_VALUE,
            log_start_offset=_OFFSET_MARK_VALUE,
        )
        body = _body(version, wanted.name, wanted.topic_id, success)
        before, marks, behind = body.partition(_OFFSET_MARK * 3)
        assert marks, "since v5 three offsets stand side by side in a Produce response"
        tags = "x" if PRODUCE.response_header_version(version) else ""
        layout = Struct(f">ii{tags}{len(before)}sqqq{len(behind)}s")
        return _Route(
            partition=partition,
            sender=Sender(version, self._client.turned_away),
            topic_name=wanted.name,
            topic_id=wanted.topic_id,
            size=layout.size - 4,
            before_offsets=before,
            behind_offsets=behind,
            layout=layout,
        )

    def _refusal(self, route: _Route, correlation_id: int, outcome: NotWritten) -> bytes:
        response = partition_response(route.partition.index, route.partition, outcome)
        body = _body(self._version, route.topic_name, route.topic_id, response)
        tags = b"\0" if PRODUCE.response_header_version(self._version) else b""
        return _HEAD.pack(4 + len(tags) + len(body), correlation_id) + tags + body


def _body(
    version: int, topic_name: str, topic_id: TopicId, response: PartitionProduceResponse
) -> bytes:
    topic = TopicProduceResponse(
        name=topic_name, topic_id=topic_id, partition_responses=(response,)
    )
    return PRODUCE.encode_response(version, ProduceResponse(responses=(topic,)))
