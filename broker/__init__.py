"""minibroker: a Kafka broker in one pip install.

`async with running() as broker:`, `with running_in_thread() as broker:` and
`with running_in_process() as broker:` give a broker for the duration of a block; `broker.bootstrap`
is what clients connect to. Nothing is imported before it is used.
"""

from typing import TYPE_CHECKING

from .version import VERSION as __version__  # noqa: N811 - the name that Python wants

if TYPE_CHECKING:
    from .config_sources import ConfigError
    from .running import Broker, running, running_in_process, running_in_thread

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
    if name == "ConfigError":
        from . import config_sources as home
    else:
        from . import running as home  # type: ignore[no-redef]  # one of two modules
    return getattr(home, name)
