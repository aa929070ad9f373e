"""Ids, the wire types of message fields, and the markers that say when a field exists.

A message is a `Message` class whose annotations are its field table:

| annotation | on the wire |
|---|---|
| `bool`, `float` | one byte, eight bytes |
| `Int8` … `Int64` | big-endian, signed |
| `Uuid`, `DirectoryId` | 16 raw bytes |
| `str`, `bytes` | length, then the content (copied) |
| `Records` | like bytes, but decoded to a slice of the frame: nothing is copied |
| `tuple[X, ...]` | count, then elements |
| another message | its fields in order |
| `X \\| None` | the same, where a null is allowed (`nullable_since` when not from the start) |
| `Annotated[X, since(2), until(5)]` | exists in these versions only |
| `Annotated[X, since(3), tagged(0)]` | in the tag section; left out when it has its default |

The assigned value is Kafka's default. A field that the version lacks is decoded to it, and is not
encoded.
"""

from typing import Annotated, NamedTuple, NewType, dataclass_transform

from msgspec import Struct

TopicId = NewType("TopicId", bytes)
"""16 raw bytes, as on the wire."""
ProducerId = NewType("ProducerId", int)
Offset = NewType("Offset", int)

ZERO_TOPIC_ID = TopicId(bytes(16))


@dataclass_transform(frozen_default=True, kw_only_default=True)  # what msgspec inherits, for mypy
class Message(Struct, frozen=True, gc=False):
    """The base of all messages and of the structs inside them; each repeats kw_only=True."""


class Fixed(NamedTuple):
    """A value of fixed size: its code in the `struct` module and its size in bytes."""

    code: str
    size: int


class Slice(NamedTuple):
    """Marks bytes that stay a view into the frame."""


class Since(NamedTuple):
    version: int


class Until(NamedTuple):
    version: int


class NullableSince(NamedTuple):
    version: int


class Tagged(NamedTuple):
    tag: int


since = Since
until = Until
nullable_since = NullableSince
tagged = Tagged

Int8 = Annotated[int, Fixed("b", 1)]
Int16 = Annotated[int, Fixed("h", 2)]
Int32 = Annotated[int, Fixed("i", 4)]
Int64 = Annotated[int, Fixed("q", 8)]
Uuid = Annotated[TopicId, Fixed("16s", 16)]
DirectoryId = Annotated[bytes, Fixed("16s", 16)]
Records = Annotated[bytes | memoryview, Slice()]
