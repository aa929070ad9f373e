"""Compiles, per message and version, the function that reads it from bytes.

Whatever is wrong with the bytes raises Malformed. Nothing is allocated on the sender's word: the
count of an array times the least size of an element must fit in the bytes left (CVE-2026-111108).
"""

from collections.abc import Callable
from struct import error as struct_error
from struct import unpack_from
from typing import TypeVar, cast

from .errors import Malformed
from .fields import ArrayOf, Blob, Field, Kind, StructOf, Text, fields_in
from .source import Source
from .types import Fixed, Message
from .varint import read_tag, read_tag_count, read_uvarint, skip_tags

M = TypeVar("M", bound=Message)
Decoder = Callable[[memoryview, int], M]

_NAMES: dict[str, object] = {
    "Malformed": Malformed,
    "broken": (IndexError, struct_error, UnicodeDecodeError),
    "read_tag": read_tag,
    "read_tag_count": read_tag_count,
    "read_uvarint": read_uvarint,
    "skip_tags": skip_tags,
    "unpack_from": unpack_from,
}


def decoder(message: type[M], version: int, is_flexible: bool) -> Decoder[M]:
    """The function from (view, position) to the message; bytes behind it are ignored."""
    # cast: what exec made has no type.
    return cast(Decoder[M], _DecoderSource(version, is_flexible).compile(message))


class _DecoderSource:
    """Writes the source; each `_read_*` method returns the variable that holds the value."""

    def __init__(self, version: int, is_flexible: bool) -> None:
        self._version = version
        self._is_flexible = is_flexible
        self._source = Source(_NAMES)

    def compile(self, message: type[Message]) -> object:
        source = self._source
        with source.block("def decode(view, pos):"):
            with source.block("try:"):
                source.line("size = len(view)")
                value = self._read_struct(message)
                source.line(f"return {value}")
            with source.block("except broken as error:"):
                title = f"{message.__name__} version {self._version}"
                source.line(f"raise Malformed('{title}: ' + str(error)) from error")
        return source.compile("decode", f"decode {title}")

    def _read_struct(self, message: type[Message]) -> str:
        ordered, tagged = fields_in(message, self._version)
        values = [(field, self._read_field(field)) for field in ordered]
        self._flush()
        if self._is_flexible:
            values += self._read_tags(tagged)
        arguments = ", ".join(f"{field.name}={value}" for field, value in values)
        result = self._source.variable()
        self._source.line(f"{result} = {self._source.constant(message)}({arguments})")
        return result

    def _read_field(self, field: Field) -> str:
        is_nullable = field.is_nullable(self._version)
        match field.kind:
            case StructOf(message) if is_nullable:
                return self._read_nullable_struct(message)
            case StructOf(message):
                self._flush()
                return self._read_struct(message)
            case ArrayOf(element):
                return self._read_array(field.name, element, is_nullable)
            case Text():
                return self._read_text(field.name, is_nullable)
            case Blob(is_slice):
                return self._read_blob(field.name, is_slice, is_nullable)
            case Fixed(code):
                return self._read_fixed(code)

    def _read_fixed(self, code: str) -> str:
        value = self._source.variable()
        self._source.run.append((code, value))
        return value

    def _flush(self) -> None:
        if not self._source.run:
            return
        layout, variables = self._source.take_run()
        unpack = self._source.constant(layout.unpack_from)
        self._source.line(f"{', '.join(variables)}, = {unpack}(view, pos)")
        self._source.line(f"pos += {layout.size}")

    def _read_count(self, legacy_code: str, limit: int | None = None) -> str:
        """A length or a count; a null is negative."""
        if not self._is_flexible:
            count = self._read_fixed(legacy_code)
            self._flush()
            return count
        self._flush()
        source = self._source
        count = source.variable()
        source.line(f"{count} = view[pos] - 1")
        with source.block(f"if {count} < 127:"):
            source.line("pos += 1")
        with source.block("else:"):
            source.line(f"{count}, pos = read_uvarint(view, pos)")
            source.line(f"{count} -= 1")
            if limit is not None:
                with source.block(f"if {count} > {limit}:"):
                    source.line(f"raise Malformed('a string above {limit} bytes')")
        return count

    def _read_text(self, name: str, is_nullable: bool) -> str:
        # 0x7FFF: the legacy length is an int16, and Kafka holds the compact one to the same.
        length = self._read_count("h", limit=0x7FFF)
        return self._read_content(name, length, "view[pos:end].tobytes().decode()", is_nullable)

    def _read_blob(self, name: str, is_slice: bool, is_nullable: bool) -> str:
        length = self._read_count("i")
        # A view takes 200 bytes of memory, an empty one 6 on the wire: there is no view of nothing.
        content = "view[pos:end] if end > pos else b''" if is_slice else "view[pos:end].tobytes()"
        return self._read_content(name, length, content, is_nullable)

    def _read_content(self, name: str, length: str, content: str, is_nullable: bool) -> str:
        source = self._source
        value = source.variable()
        self._reject_or_null(name, length, value, is_nullable)
        with source.block("else:"):
            source.line(f"end = pos + {length}")
            with source.block("if end > size:"):
                source.line(f"raise Malformed('{name} is cut off')")
            source.line(f"{value} = {content}")
            source.line("pos = end")
        return value

    def _reject_or_null(self, name: str, count: str, value: str, is_nullable: bool) -> None:
        with self._source.block(f"if {count} < 0:"):
            if is_nullable:
                self._source.line(f"{value} = None")
            else:
                self._source.line(f"raise Malformed('{name} is null')")

    def _read_nullable_struct(self, message: type[Message]) -> str:
        is_present = self._read_fixed("b")
        self._flush()
        source = self._source
        value = source.variable()
        with source.block(f"if {is_present} < 0:"):
            source.line(f"{value} = None")
        with source.block("else:"):
            source.line(f"{value} = {self._read_struct(message)}")
        return value

    def _read_array(self, name: str, element: Kind, is_nullable: bool) -> str:
        source = self._source
        count = self._read_count("i")
        value = source.variable()
        self._reject_or_null(name, count, value, is_nullable)
        least = least_size(element, self._version, self._is_flexible)
        with source.block(f"elif {count} * {least} > size - pos:"):
            source.line(f"raise Malformed('{name} announces more than was sent')")
        with source.block("else:"):
            if isinstance(element, Fixed) and len(element.code) == 1:
                source.line(f"{value} = unpack_from(f'>{{{count}}}{element.code}', view, pos)")
                source.line(f"pos += {count} * {element.size}")
            else:
                self._read_elements(name, element, count, value)
        return value

    def _read_elements(self, name: str, element: Kind, count: str, value: str) -> None:
        source = self._source
        items = source.variable()
        source.line(f"{items} = []")
        with source.block(f"for _ in range({count}):"):
            item = self._read_field(Field(name, element, 0, 0, None, None, None))
            self._flush()
            source.line(f"{items}.append({item})")
        source.line(f"{value} = tuple({items})")

    def _read_tags(self, tagged: list[Field]) -> list[tuple[Field, str]]:
        source = self._source
        values = [(field, source.variable()) for field in tagged]
        for field, value in values:
            source.line(f"{value} = {source.constant(field.default)}")
        with source.block("if view[pos] == 0:"):
            source.line("pos += 1")
        with source.block("else:"):
            if values:
                self._read_known_tags(values)
            else:
                source.line("pos = skip_tags(view, pos)")
        return values

    def _read_known_tags(self, values: list[tuple[Field, str]]) -> None:
        source = self._source
        count, tag, end = source.variable(), source.variable(), source.variable()
        source.line(f"{count}, pos = read_tag_count(view, pos)")
        source.line(f"{tag} = -1")
        with source.block(f"for _ in range({count}):"):
            source.line(f"{tag}, pos, {end} = read_tag(view, pos, {tag})")
            for i, (field, value) in enumerate(values):
                with source.block(f"{'elif' if i else 'if'} {tag} == {field.tag}:"):
                    read = self._read_field(field)
                    self._flush()
                    source.line(f"{value} = {read}")
                    with source.block(f"if pos != {end}:"):
                        source.line(
                            f"raise Malformed('{field.name} has another size than its tag')"
                        )
            with source.block("else:"):
                source.line(f"pos = {end}")


def least_size(kind: Kind, version: int, is_flexible: bool) -> int:
    """The fewest bytes that a value takes in this version: an empty string, an empty array."""
    match kind:
        case Fixed(_, size):
            return size
        case Text():
            return 1 if is_flexible else 2
        case Blob() | ArrayOf():
            return 1 if is_flexible else 4
        case StructOf(message):
            ordered, _ = fields_in(message, version)
            return max(1, sum(_least_of(f, version, is_flexible) for f in ordered) + is_flexible)


def _least_of(field: Field, version: int, is_flexible: bool) -> int:
    if isinstance(field.kind, StructOf) and field.is_nullable(version):
        return 1
    return least_size(field.kind, version, is_flexible)
