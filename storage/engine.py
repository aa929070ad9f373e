"""The seam between the rules and where batches are kept.

A log keeps whole record batches in offset order and knows nothing of producers. Order is fixed by
`append`, which is synchronous; that something is safe is a second, later fact, the acknowledged
offset.
"""

from typing import NamedTuple, Protocol

from minibroker.protocol.types import TopicId

Buffer = bytes | bytearray | memoryview


class OffsetAndTime(NamedTuple):
    """Where a record is, and its timestamp in ms."""

    offset: int
    timestamp: int


class StorageFailed(Exception):  # noqa: N818 - a fact about the disk, not a mistake
    """A batch could not be kept; nothing of it was. The message says why."""


class Log(Protocol):
    """One partition's batches. Offsets are of records; all of them but `log_start_offset` only
    grow.
    """

    @property
    def leader_epoch(self) -> int:
        """The epoch that is patched into every batch."""

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets: the written end."""

    @property
    def acknowledged_offset(self) -> int:
        """The end of what the durability policy has acknowledged; what consumers may see."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches kept."""

    def append(self, batch: Buffer, records_count: int, max_timestamp: int) -> int:
        """Write one whole batch at the end, with its base offset and the leader epoch patched in.

        Returns its base offset. Raises StorageFailed, and then nothing was written.
        """

    def read(self, offset: int, max_bytes: int, end: int) -> list[memoryview]:
        """Whole batches from the one that holds `offset`, without a copy.

        At most `max_bytes` of them, but always the first one; none from `end` on.
        """

    def bytes_between(self, offset: int, end: int) -> int:
        """About how many bytes `read` has from `offset` to `end`."""

    def offset_at_or_after(self, timestamp: int) -> OffsetAndTime | None:
        """The first record whose timestamp is not below `timestamp`."""

    def max_timestamp(self) -> OffsetAndTime | None:
        """The first record that has the largest timestamp."""

    def trim(self, offset: int) -> None:
        """Move the log start offset up to `offset`; what is wholly below it may go."""

    def close(self) -> None:
        """Give back what the log holds."""


class Engine(Protocol):
    """Where the logs of a broker are."""

    def create(self, topic_id: TopicId, topic: str, partition: int) -> Log:
        """A new and empty log."""

    @property
    def leader_epoch(self) -> int:
        """Grows with every start; patched into every batch."""
