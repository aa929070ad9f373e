"""Models of clients: an idempotent producer and a consumer. They speak real bytes.

The producer does what Java's does: five requests in flight, retries in order with the sequences
that they had, and a new epoch from sequence 0 once it has given up on batches whose fate it does
not know.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from struct import pack
from typing import NamedTuple, TypeVar

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.headers import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from minibroker.protocol.messages.fetch import FETCH, FetchPartition, FetchRequest, FetchTopic
from minibroker.protocol.messages.produce import (
    PRODUCE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from minibroker.protocol.messages.producers import INIT_PRODUCER_ID, InitProducerIdRequest
from minibroker.protocol.records import iter_batches, iter_records
from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Message
from tests.batches import batch

from .network import ClientEnd, CutError, Network
from .world import World

RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)

PORT = 9092
VERSION = 9
TOPIC = "simulated"
IN_FLIGHT = 5
REQUEST_TIMEOUT_S = 0.3
DELIVERY_TIMEOUT_S = 0.5
BACKOFF_S = 0.02


class Caller:
    """One connection at a time, made anew when it breaks."""

    def __init__(self, world: World, network: Network, name: str) -> None:
        self.world = world
        self.network = network
        self.name = name
        self.end: ClientEnd | None = None
        self.correlation_id = 0

    async def connected(self) -> ClientEnd:
        """Raises CutError."""
        if self.end is None:
            self.end = await self.network.connect(PORT)
        return self.end

    async def send(
        self, schema: ApiSchema[RequestT, ResponseT], version: int, request: RequestT
    ) -> None:
        """Raises CutError."""
        end = await self.connected()
        self.correlation_id += 1
        header = RequestHeader(schema.key, version, self.correlation_id, self.name)
        body = encode_request_header(header, schema.is_flexible(version))
        body += schema.encode_request(version, request)
        end.send(pack(">i", len(body)) + body)

    async def receive(self, schema: ApiSchema[RequestT, ResponseT], version: int) -> ResponseT:
        """The next answer. Raises CutError, TimeoutError."""
        assert self.end
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            view = memoryview(await self.end.receive_frame())
        _, offset = decode_response_header(view, schema.response_header_version(version) == 1)
        return schema.decode_response(version, view, offset)

    async def hang_up(self) -> None:
        """Close, and wait a little before the next try."""
        if self.end:
            self.end.close()
            self.end = None
        await asyncio.sleep(BACKOFF_S * self.world.random.random())


class Batch(NamedTuple):
    """Records that were handed to a producer, and when it gives up on them."""

    values: tuple[bytes, ...]
    epoch: int
    first: int
    made_ms: int
    give_up_s: float

    @property
    def last(self) -> int:
        return self.first + len(self.values) - 1


class Acknowledged(NamedTuple):
    """What the broker has promised."""

    value: bytes
    offset: int


class Producer(Caller):
    """Writes batches to one partition until all are acknowledged or given up."""

    def __init__(self, world: World, network: Network, name: str, partition: int) -> None:
        super().__init__(world, network, name)
        self.partition = partition
        self.acknowledged: list[Acknowledged] = []
        self.given_up: list[bytes] = []
        self.retries = 0
        self.epoch_bumps = 0
        self._producer_id = -1
        self._epoch = 0
        self._next_sequence = 0
        self._unsettled: deque[Batch] = deque()
        """Batches with a sequence, the oldest first; those in flight are in front."""
        self._in_flight = 0
        self._records = 0

    async def run(self, until_s: float) -> None:
        while self._producer_id < 0:
            await self._trying(self._init_producer_id)
        while self._unsettled or self.world.time() < until_s:
            self._give_up_what_is_late()
            while self.world.time() < until_s and len(self._unsettled) < IN_FLIGHT:
                self._unsettled.append(self._new_batch())
            await self._trying(self._exchange)
            if self.world.random.random() < 0.3:
                await asyncio.sleep(self.world.random.random() * 0.1)
        await self.hang_up()

    async def _trying(self, step: Callable[[], Awaitable[None]]) -> None:
        """One step; a connection that broke is made anew, and all in flight is sent again."""
        try:
            await step()
        except (CutError, TimeoutError) as error:
            self.world.note(f"{self.name} retries {self._in_flight}, {type(error).__name__}")
            self.retries += self._in_flight
            self._in_flight = 0
            await self.hang_up()

    async def _init_producer_id(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        await self.send(INIT_PRODUCER_ID, 4, request)
        response = await self.receive(INIT_PRODUCER_ID, 4)
        assert response.error_code == 0
        self._producer_id, self._epoch = response.producer_id, response.producer_epoch

    async def _exchange(self) -> None:
        """Send what is not in flight; take one answer."""
        while self._in_flight < len(self._unsettled):
            await self.send(PRODUCE, VERSION, self._request(self._unsettled[self._in_flight]))
            self._in_flight += 1
        if self._in_flight:
            answer = await self.receive(PRODUCE, VERSION)
            ((response,),) = (topic.partition_responses for topic in answer.responses)
            self._settle(ErrorCode(response.error_code), response.base_offset)

    def _settle(self, error_code: ErrorCode, base_offset: int) -> None:
        oldest = self._unsettled[0]
        self.world.note(
            f"{self.name} {oldest.epoch}:{oldest.first}-{oldest.last} is {error_code.name}"
            f" at {base_offset}"
        )
        assert error_code is ErrorCode.NONE, "nothing that this client does is refused"
        self._unsettled.popleft()
        self._in_flight -= 1
        for at, value in enumerate(oldest.values):
            self.acknowledged.append(Acknowledged(value, base_offset + at))

    def _new_batch(self) -> Batch:
        count = self.world.random.randint(1, 4)
        values = tuple(b"%s-%06d" % (self.name.encode(), self._records + at) for at in range(count))
        self._records += count
        first, self._next_sequence = self._next_sequence, self._next_sequence + count
        give_up_s = self.world.time() + DELIVERY_TIMEOUT_S
        return Batch(values, self._epoch, first, self.world.now_ms(), give_up_s)

    def _give_up_what_is_late(self) -> None:
        """All that is unsettled, for the fate of the oldest is not known; then a new epoch."""
        if not self._unsettled or self.world.time() < self._unsettled[0].give_up_s:
            return
        if self._in_flight:
            return  # an answer may still come; the request timeout is shorter
        for late in self._unsettled:
            self.given_up += late.values
        self._unsettled.clear()
        self._epoch += 1
        self._next_sequence = 0
        self.epoch_bumps += 1
        self.world.note(f"{self.name} goes on in epoch {self._epoch}")

    def _request(self, wanted: Batch) -> ProduceRequest:
        records = batch(
            wanted.first,
            wanted.last,
            producer_id=self._producer_id,
            epoch=wanted.epoch,
            timestamp=wanted.made_ms,
            values=wanted.values,
        )
        partition = PartitionProduceData(index=self.partition, records=records)
        topic = TopicProduceData(name=TOPIC, partition_data=(partition,))
        return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,))


class Consumer(Caller):
    """Reads one partition from its beginning, until it is told the end."""

    def __init__(self, world: World, network: Network, name: str, partition: int) -> None:
        super().__init__(world, network, name)
        self.partition = partition
        self.read: list[Acknowledged] = []
        self.end_offset: int | None = None
        """Where to stop, once that is known."""
        self._position = 0

    async def run(self) -> None:
        while self.end_offset is None or self._position < self.end_offset:
            try:
                await self._fetch()
            except (CutError, TimeoutError) as error:
                self.world.note(f"{self.name} fetches again, {type(error).__name__}")
                await self.hang_up()
        await self.hang_up()

    async def _fetch(self) -> None:
        partition = FetchPartition(
            partition=self.partition, fetch_offset=self._position, partition_max_bytes=4096
        )
        topic = FetchTopic(topic=TOPIC, partitions=(partition,))
        request = FetchRequest(max_wait_ms=200, min_bytes=1, topics=(topic,))
        await self.send(FETCH, 12, request)
        answer = await self.receive(FETCH, 12)
        ((response,),) = (topic.partitions for topic in answer.responses)
        assert response.error_code == 0
        assert response.records is not None
        for one in records_of(memoryview(response.records)):
            if one.offset >= self._position:
                assert one.offset == self._position, "a hole"
                self.read.append(one)
                self._position += 1
        self.world.note(f"{self.name} is at {self._position}")


def records_of(batches: memoryview) -> Iterator[Acknowledged]:
    """Every record, with its offset."""
    for header, view in iter_batches(batches):
        for record in iter_records(view, header):
            assert record.value is not None
            yield Acknowledged(record.value, record.offset)
