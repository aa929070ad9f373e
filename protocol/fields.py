"""The field table of a message, read from its annotations (see `types.py` for what they mean)."""

from functools import cache
from types import UnionType
from typing import Annotated, NamedTuple, Union, get_args, get_origin

from msgspec import NODEFAULT

from .types import Fixed, Message, NullableSince, Since, Slice, Tagged, Until

_FOREVER = 1 << 15  # above any version, which is an int16


class Text(NamedTuple):
    """A string."""


class Blob(NamedTuple):
    """Bytes; a slice of the frame when they are records."""

    is_slice: bool


class StructOf(NamedTuple):
    message: type[Message]


class ArrayOf(NamedTuple):
    element: "Kind"


Kind = Fixed | Text | Blob | StructOf | ArrayOf


class Field(NamedTuple):
    """One row of the table. `nullable_since` is None where a null never is allowed."""

    name: str
    kind: Kind
    first: int
    last: int
    nullable_since: int | None
    tag: int | None
    default: object  # NODEFAULT when a value must be given

    def is_nullable(self, version: int) -> bool:
        return self.nullable_since is not None and version >= self.nullable_since


@cache
def field_table(message: type[Message]) -> tuple[Field, ...]:
    """All fields of a message in wire order."""
    names = message.__struct_fields__
    given = message.__struct_defaults__
    defaults = (NODEFAULT,) * (len(names) - len(given)) + given
    return tuple(
        _field(name, message.__annotations__[name], default)
        for name, default in zip(names, defaults, strict=True)
    )


def fields_in(message: type[Message], version: int) -> tuple[list[Field], list[Field]]:
    """The fields of one version: those in order, and those of the tag section."""
    present = [f for f in field_table(message) if f.first <= version <= f.last]
    ordered = [f for f in present if f.tag is None]
    tagged = [f for f in present if f.tag is not None]
    return ordered, sorted(tagged, key=lambda f: f.tag or 0)


def _field(name: str, annotation: object, default: object) -> Field:
    annotation, markers = _unwrap(annotation)
    kind_annotation, is_optional = _without_none(annotation)
    facts = {type(marker): marker[0] for marker in markers if not isinstance(marker, Fixed | Slice)}
    first = facts.get(Since, 0)
    return Field(
        name=name,
        kind=_kind(kind_annotation, markers),
        first=first,
        last=facts.get(Until, _FOREVER),
        nullable_since=facts.get(NullableSince, first) if is_optional else None,
        tag=facts.get(Tagged),
        default=default,
    )


# Annotations are plain objects until looked at, hence `object` and the narrow tests below.


def _unwrap(annotation: object) -> tuple[object, tuple[tuple[int, ...], ...]]:
    if get_origin(annotation) is Annotated:
        inner, *markers = get_args(annotation)
        return inner, tuple(markers)
    return annotation, ()


def _without_none(annotation: object) -> tuple[object, bool]:
    if get_origin(annotation) in (Union, UnionType):
        members = [a for a in get_args(annotation) if a is not type(None)]
        if len(members) < len(get_args(annotation)):
            return (members[0] if len(members) == 1 else Union[tuple(members)]), True  # noqa: UP007
    return annotation, False


def _kind(annotation: object, markers: tuple[object, ...]) -> Kind:
    inner, own = _unwrap(annotation)
    for marker in (*own, *markers):
        if isinstance(marker, Fixed):
            return marker
        if isinstance(marker, Slice):
            return Blob(is_slice=True)
    if get_origin(inner) is tuple:
        return ArrayOf(_kind(get_args(inner)[0], ()))
    if isinstance(inner, type) and issubclass(inner, Message):
        return StructOf(inner)
    return _PLAIN[inner]


_PLAIN: dict[object, Kind] = {
    bool: Fixed("?", 1),
    float: Fixed("d", 8),
    str: Text(),
    bytes: Blob(is_slice=False),
}
