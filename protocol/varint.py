"""Unsigned varints, and the tag sections that are made of them.

CVE-2026-111115: the number of tags is the sender's word. It is bounded before the first is read,
and a tag that nobody knows is stepped over without making anything.
"""

from .errors import Malformed

MAX_TAGS = 64


def read_uvarint(view: memoryview, pos: int) -> tuple[int, int]:
    """The value of at most 5 bytes at `pos`, and the position behind it.

    Raises: Malformed when it is longer or above 32 bits, IndexError when it is cut off.
    """
    value = 0
    for shift in (0, 7, 14, 21, 28):
        byte = view[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFF_FFFF:
                break
            return value, pos
    raise Malformed("a varint above 32 bits")


def write_uvarint(value: int) -> bytes:
    """The shortest encoding."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_tag_count(view: memoryview, pos: int) -> tuple[int, int]:
    """How many tags follow. Raises: Malformed if they cannot fit (two bytes a tag) or pass 64."""
    count, pos = read_uvarint(view, pos)
    if count > min(MAX_TAGS, (len(view) - pos) // 2):
        raise Malformed(f"{count} tags in {len(view) - pos} bytes")
    return count, pos


def read_tag(view: memoryview, pos: int, previous: int) -> tuple[int, int, int]:
    """A tag, where its value starts, and where that ends; tags must ascend."""
    tag, pos = read_uvarint(view, pos)
    if tag <= previous:
        raise Malformed(f"tag {tag} after tag {previous}")
    length, pos = read_uvarint(view, pos)
    end = pos + length
    if end > len(view):
        raise Malformed(f"a tag of {length} bytes where {len(view) - pos} are left")
    return tag, pos, end


def skip_tags(view: memoryview, pos: int) -> int:
    """The position behind a section of tags that nobody knows."""
    count, pos = read_tag_count(view, pos)
    tag = -1
    for _ in range(count):
        tag, _, pos = read_tag(view, pos, tag)
    return pos
