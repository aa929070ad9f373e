"""Compiles, per message and version, the function that writes it as bytes."""

from collections.abc import Callable
from struct import pack
from typing import TypeVar, cast

from .fields import ArrayOf, Blob, Field, Kind, StructOf, Text, fields_in
from .source import Source
from .types import Fixed, Message
from .varint import write_uvarint

M = TypeVar("M", bound=Message)
Part = bytes | memoryview
Encoder = Callable[[M], list[Part]]

_ONE_BYTE = tuple(bytes([value]) for value in range(128))

_NAMES: dict[str, object] = {
    "one_byte": _ONE_BYTE,
    "pack": pack,
    "write_uvarint": write_uvarint,
}


def encoder(message: type[M], version: int, is_flexible: bool) -> Encoder[M]:
    """The function from a message to its parts in order; records are not copied."""
    # cast: what exec made has no type.
    return cast(Encoder[M], _EncoderSource(version, is_flexible).compile(message))


class _EncoderSource:
    """Writes the source. `_append` is the name of the list method that takes the next part."""

    def __init__(self, version: int, is_flexible: bool) -> None:
        self._version = version
        self._is_flexible = is_flexible
        self._source = Source(_NAMES)
        self._append = "append"

    def compile(self, message: type[Message]) -> object:
        with self._source.block("def encode(message):"):
            self._source.line("parts = []")
            self._source.line("append = parts.append")
            self._write_struct(message, "message")
            self._flush()
            self._source.line("return parts")
        return self._source.compile("encode", f"encode {message.__name__} version {self._version}")

    def _write_struct(self, message: type[Message], value: str) -> None:
        ordered, tagged = fields_in(message, self._version)
        for field in ordered:
            self._write_field(field, f"{value}.{field.name}")
        if tagged:
            self._write_tags(tagged, value)
        elif self._is_flexible:
            self._source.run.append(("x", ""))

    def _write_field(self, field: Field, value: str) -> None:
        is_nullable = field.is_nullable(self._version)
        match field.kind:
            case StructOf(message) if is_nullable:
                self._write_nullable_struct(message, value)
            case StructOf(message):
                self._write_struct(message, self._local(value))
            case ArrayOf(element):
                self._write_array(field.name, element, self._local(value), is_nullable)
            case Text():
                self._write_content("h", self._local(value), ".encode()", is_nullable)
            case Blob():
                self._write_content("i", self._local(value), "", is_nullable)
            case Fixed(code):
                self._source.run.append((code, value))

    def _local(self, value: str) -> str:
        local = self._source.variable()
        self._source.line(f"{local} = {value}")
        return local

    def _flush(self) -> None:
        if not self._source.run:
            return
        if all(code == "x" for code, _ in self._source.run):
            self._source.line(f"{self._append}({bytes(len(self._source.run))!r})")
            self._source.run = []
            return
        layout, expressions = self._source.take_run()
        pack_run = self._source.constant(layout.pack)
        self._source.line(f"{self._append}({pack_run}({', '.join(expressions)}))")

    def _write_count(self, legacy_code: str, value: str, is_nullable: bool) -> None:
        """The length of `value`; a null is -1, or 0 where 1 is added to each length."""
        source = self._source
        count = source.variable()
        length, null = (f"len({value}) + 1", 0) if self._is_flexible else (f"len({value})", -1)
        source.line(
            f"{count} = {f'{null} if {value} is None else ' if is_nullable else ''}{length}"
        )
        if self._is_flexible:
            self._flush()
            self._write_uvarint(count)
        else:
            source.run.append((legacy_code, count))

    def _write_uvarint(self, value: str) -> None:
        number = f"one_byte[{value}] if {value} < 128 else write_uvarint({value})"
        self._source.line(f"{self._append}({number})")

    def _write_content(self, legacy_code: str, value: str, convert: str, is_nullable: bool) -> None:
        if convert:
            is_absent = f"None if {value} is None else " if is_nullable else ""
            self._source.line(f"{value} = {is_absent}{value}{convert}")
        self._write_count(legacy_code, value, is_nullable)
        self._flush()
        with self._source.block(f"if {value}:"):
            self._source.line(f"{self._append}({value})")

    def _write_nullable_struct(self, message: type[Message], value: str) -> None:
        source = self._source
        local = self._local(value)
        self._flush()
        with source.block(f"if {local} is None:"):
            source.line(f"{self._append}(b'\\xff')")
        with source.block("else:"):
            source.line(f"{self._append}(b'\\x01')")
            self._write_struct(message, local)
            self._flush()

    def _write_array(self, name: str, element: Kind, value: str, is_nullable: bool) -> None:
        source = self._source
        self._write_count("i", value, is_nullable)
        self._flush()
        with source.block(f"if {value}:"):
            if isinstance(element, Fixed) and len(element.code) == 1:
                source.line(f"{self._append}(pack(f'>{{len({value})}}{element.code}', *{value}))")
                return
            item = source.variable()
            with source.block(f"for {item} in {value}:"):
                self._write_field(Field(name, element, 0, 0, None, None, None), item)
                self._flush()

    def _write_tags(self, tagged: list[Field], value: str) -> None:
        """Only what differs from its default is written, as Kafka does."""
        source = self._source
        self._flush()
        count, tags, outer = source.variable(), source.variable(), self._append
        source.line(f"{count} = 0")
        source.line(f"{tags} = []")
        for field in tagged:
            local = self._local(f"{value}.{field.name}")
            with source.block(f"if {local} != {source.constant(field.default)}:"):
                parts = source.variable()
                source.line(f"{parts} = []")
                self._append = f"{parts}.append"
                self._write_field(field, local)
                self._flush()
                body = self._local(f"b''.join({parts})")
                source.line(f"{count} += 1")
                source.line(
                    f"{tags} += (one_byte[{field.tag}], write_uvarint(len({body})), {body})"
                )
        self._append = outer
        source.line(f"{self._append}(one_byte[{count}])")
        source.line(f"for part in {tags}: {self._append}(part)")
