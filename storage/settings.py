"""What a setting is: its type, its bounds, and the one text that each of its values is kept as.

The values that come in are text, as Kafka's protocol and files have them. A value is parsed,
checked against the bounds, and kept in its canonical text ("TRUE" is kept as "true", " 12 " as
"12"), which is what Kafka 4.4 does.
"""

from enum import IntEnum
from re import fullmatch

from msgspec import Struct

Value = bool | int | float | str | tuple[str, ...]


class SettingType(IntEnum):
    """The numbers that DescribeConfigs gives the types (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


LARGEST_INT = (1 << 31) - 1
LARGEST_LONG = (1 << 63) - 1

_WIDTH_BITS = {SettingType.SHORT: 16, SettingType.INT: 32, SettingType.LONG: 64}
_UNIT_MS = {".minutes": 60_000, ".hours": 3_600_000}
_NO_EFFECT = " Accepted and described; it has no effect in this release."


class InvalidConfig(ValueError):  # noqa: N818 - the name of error 40
    """A value that its setting does not take, a name that is none, or two settings that contradict.

    str() is the whole sentence that a client is told (error 40); problem is its last part, for a
    line that has named the setting and the value already.
    """

    def __init__(self, message: str, problem: str | None = None) -> None:
        super().__init__(message)
        self.problem = message if problem is None else problem


class Setting(Struct, frozen=True, gc=False):
    """One row of a table of settings."""

    name: str
    type: SettingType
    default: str | None
    summary: str
    low: int | None = None
    high: int | None = None
    # One value that is right although it is outside the bounds (gzip's -1).
    exception: int | None = None
    choices: tuple[str, ...] = ()
    # A regular expression for the whole text, and the sentence that says what it asks for.
    pattern: tuple[str, str] | None = None
    # The broker keys that supply a topic setting's default, first come first served.
    broker_keys: tuple[str, ...] = ()
    has_effect: bool = False

    @property
    def documentation(self) -> str:
        """What DescribeConfigs says, and whether the setting does anything here."""
        return self.summary if self.has_effect else self.summary + _NO_EFFECT


def parse(setting: Setting, text: str) -> Value:
    """The typed value of a text.

    Raises InvalidConfig if it is no value of this setting.
    """
    match setting.type:
        case SettingType.BOOLEAN:
            return _boolean(setting, text)
        case SettingType.INT | SettingType.SHORT | SettingType.LONG:
            return _bounded(setting, _integer(setting, text))
        case SettingType.DOUBLE:
            return _bounded(setting, _double(setting, text))
        case SettingType.LIST:
            return _list(setting, text)
        case _:
            return _string(setting, text.strip())


def text_of(value: Value) -> str:
    """The canonical text of a typed value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def canonical(setting: Setting, text: str) -> str:
    """The text under which a value is kept.

    Raises InvalidConfig if it is no value of this setting.
    """
    return text_of(parse(setting, text))


def milliseconds(key: str, value: int) -> int:
    """A period in the unit that its broker key's name ends with; below 0 stands for no limit."""
    unit_ms = next((ms for suffix, ms in _UNIT_MS.items() if key.endswith(suffix)), None)
    return value if unit_ms is None else max(-1, value * unit_ms)


def _refusal(setting: Setting, shown: object, problem: str) -> InvalidConfig:
    return InvalidConfig(
        f"Invalid value {shown} for configuration {setting.name}: {problem}", problem
    )


def _boolean(setting: Setting, text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise _refusal(setting, text, "Expected value to be either true or false")
    return word == "true"


def _integer(setting: Setting, text: str) -> int:
    limit = 1 << (_WIDTH_BITS[setting.type] - 1)
    try:
        # int() takes 1_000, Kafka does not.
        value = int(text.replace("_", "?"))
    except ValueError:
        value = limit
    if not -limit <= value < limit:
        raise _refusal(setting, text, f"Not a number of type {setting.type.name}")
    return value


def _double(setting: Setting, text: str) -> float:
    try:
        value = float(text.replace("_", "?"))
    except ValueError:
        value = float("nan")
    # Kafka takes NaN, and then no comparison with it holds; here it is no number.
    if value != value:
        raise _refusal(setting, text, "Not a number of type DOUBLE")
    return value


def _bounded(setting: Setting, value: int | float) -> int | float:
    low, high = setting.low, setting.high
    if value == setting.exception:
        return value
    if setting.exception is not None and low is not None and high is not None:
        if not low <= value <= high:
            bounds = f"between {low} and {high} or equal to {setting.exception}"
            raise _refusal(setting, value, f"Value must be {bounds}")
    elif low is not None and value < low:
        raise _refusal(setting, value, f"Value must be at least {low}")
    elif high is not None and value > high:
        raise _refusal(setting, value, f"Value must be no more than {high}")
    return value


def _list(setting: Setting, text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()
    # dict keeps the order and drops what comes a second time.
    items = tuple(dict.fromkeys(item.strip() for item in text.split(",")))
    if "" in items:
        problem = "values must not be empty"
        raise InvalidConfig(f"Configuration '{setting.name}' {problem}.", problem)
    for item in items:
        _one_of(setting, item)
    _matches(setting, ",".join(items))
    return items


def _string(setting: Setting, text: str) -> str:
    _one_of(setting, text)
    _matches(setting, text)
    return text


def _one_of(setting: Setting, text: str) -> None:
    if setting.choices and text not in setting.choices:
        raise _refusal(setting, text, f"String must be one of: {', '.join(setting.choices)}")


def _matches(setting: Setting, text: str) -> None:
    if setting.pattern is not None and not fullmatch(setting.pattern[0], text):
        raise _refusal(setting, text, setting.pattern[1])
