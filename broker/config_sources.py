"""Where options come from, lowest precedence first: keyword or file, environment, command line.

Each source gives the same: a text for each option, with the words that a message about it needs.
An option is a broker key ("num.partitions"), or a flag with its dashes ("--port") where no key says
the same.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

# The flags that take a value, without their dashes, and the options that they give.
FLAGS: Mapping[str, str] = {
    "host": "--host",
    "port": "--port",
    "advertised": "--advertised",
    "data": "--data",
    "fsync": "--fsync",
    "memory-limit": "memory.limit",
    "topic": "--topic",
    "first-producer-id": "--first-producer-id",
    "log-format": "--log-format",
    "log-level": "--log-level",
}

# Options that say the same thing: one from a higher source puts the others out of force.
_RIVALS: Mapping[str, tuple[str, ...]] = {
    "listeners": ("--host", "--port"),
    "--host": ("listeners",),
    "--port": ("listeners",),
    "advertised.listeners": ("--advertised",),
    "--advertised": ("advertised.listeners",),
}

Plain = str | int | float
Option = Plain | Sequence[Plain] | Mapping[str, Plain] | None


class Given(Struct, frozen=True, gc=False):
    """The text of one option, and how its user wrote it."""

    option: str
    text: str
    shown: str
    is_from_environment: bool = False


class ConfigError(Exception):
    """A configuration that cannot be used: one line that says what to do."""

    def __init__(self, problem: str, *causes: Given) -> None:
        shown = " and ".join(given.shown for given in causes)
        super().__init__(f"{shown}: {problem}" if shown else problem)
        self.problem = problem
        self.causes = causes


def from_command_line(
    flags: Mapping[str, str | Sequence[str] | None], set_pairs: Sequence[str]
) -> Iterator[Given]:
    """The flags that were given, and the pairs of --set."""
    for pair in set_pairs:
        key, equals, value = pair.partition("=")
        given = Given(key.strip(), value, f"--set {pair}")
        if not equals:
            raise ConfigError("expected KEY=VALUE, such as num.partitions=3", given)
        yield given
    for flag, content in flags.items():
        if content is not None and content != ():
            text = content if isinstance(content, str) else ",".join(content)
            yield Given(FLAGS[flag], text, f"--{flag} {text}")


def from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    """MINIBROKER_<FLAG> for the flags, KAFKA_<KEY> as the official image spells keys.

    An empty variable counts as none. Names that are no flag come out as they are; whoever checks
    the options finds them unknown. Messages name the variable alone: its text may be a secret.
    """
    for variable, text in sorted(environ.items()):
        prefix, _, name = variable.partition("_")
        if not text or variable == "MINIBROKER_CONFIG":
            continue
        if prefix == "KAFKA" and name:
            yield Given(_key(name), text, variable, is_from_environment=True)
        elif variable == "MINIBROKER_SET":
            for pair in text.split():
                key, _, value = pair.partition("=")
                yield Given(key, value, f"{key} in {variable}", is_from_environment=True)
        elif prefix == "MINIBROKER" and name:
            flag = name.lower().replace("_", "-")
            yield Given(FLAGS.get(flag, variable), text, variable, is_from_environment=True)


def from_file(path: str) -> Iterator[Given]:
    """The flags as keys, and broker keys under [kafka], quoted or as nested tables.

    Raises ConfigError if the file cannot be read, or is no TOML, or has a key that is no flag.
    """
    import tomllib

    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    for name, value in content.items():
        if name == "kafka" and isinstance(value, dict):
            for key, text in _flattened("", value):
                yield Given(key, text, f"{key} = {text} in {path}")
        elif name in FLAGS:
            text = _text(value)
            yield Given(FLAGS[name], text, f"{name} = {text} in {path}")
        else:
            raise ConfigError(f"{name} in {path}: {_not_a_flag(name)}")


def from_keywords(options: Mapping[str, Option]) -> Iterator[Given]:
    """Keyword arguments: a flag or a broker key, with _ for its dashes or dots.

    `topics` is `topic`, and `settings` maps broker keys to their values.
    """
    for name, value in options.items():
        if isinstance(value, Mapping):
            for key, text in _flattened("", value):
                yield Given(key, text, f"{name}[{key!r}]={text!r}")
        elif value is not None:
            flag = "topic" if name == "topics" else name.replace("_", "-")
            text = _text(value)
            yield Given(FLAGS.get(flag, name.replace("_", ".")), text, f"{name}={text!r}")


def merge(*sources: Mapping[str, Given]) -> dict[str, Given]:
    """One option each, the sources lowest precedence first.

    Raises ConfigError if one source says the same thing in two ways.
    """
    merged: dict[str, Given] = {}
    for source in sources:
        for option in source:
            for rival in _RIVALS.get(option, ()):
                if rival in source:
                    raise ConfigError("leave out one of the two", source[option], source[rival])
                merged.pop(rival, None)
        merged.update(source)
    return merged


def nearest(name: str, known: Sequence[str]) -> str:
    """ "; did you mean ...?", or nothing where nothing is near."""
    from difflib import get_close_matches

    matches = get_close_matches(name, known, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def _key(name: str) -> str:
    """___ is a dash, __ an underscore, _ a dot."""
    words = name.lower().split("___")
    return "-".join("_".join(w.replace("_", ".") for w in word.split("__")) for word in words)


def _flattened(prefix: str, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(f"{prefix}{name}.", value)
        else:
            yield prefix + name, _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(_text(item) for item in value)
    return str(value)


def _not_a_flag(name: str) -> str:
    if "." in name:
        return "broker keys go under [kafka]"
    return "unknown option" + nearest(name, (*FLAGS, "kafka"))
