"""Everything that is served, in one list."""

from .apis import produce
from .apis.api_versions import api_versions
from .registry import Registry


def all_apis() -> Registry:
    """The registry of a broker."""
    registry = Registry(produce.APIS)
    registry.add(api_versions(registry))
    return registry
