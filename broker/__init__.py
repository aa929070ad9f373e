"""minibroker: a Kafka broker in one pip install.

`async with running() as broker:`, `with running_in_thread() as broker:` and
`with running_in_process() as broker:` give a broker for the duration of a block; `broker.bootstrap`
is what clients connect to. Nothing is imported before it is used.
"""

from typing import TYPE_CHECKING

from .version import VERSION as __version__  # noqa: N811 - the name that Python wants

if TYPE_CHECKING:
    from .config_sources import ConfigError
    from .embedded import Broker, running, running_in_process, running_in_thread

__all__ = [
    "Broker",
    "ConfigError",
    "__version__",
    "running",
    "running_in_process",
    "running_in_thread",
]


def __getattr__(name: str) -> object:
    """PEP 562: importing the package costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(".config_sources" if name == "ConfigError" else ".embedded", __name__)
    value: object = getattr(home, name)
    return value
