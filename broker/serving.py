"""Everything that is served, in one list."""

from .apis import (
    cluster,
    configs,
    coordinator,
    delete_records,
    fetch,
    list_offsets,
    metadata,
    produce,
    producers,
    topics,
    transactions,
)
from .apis.api_versions import api_versions
from .registry import Registry

_FAMILIES = (
    produce,
    fetch,
    list_offsets,
    metadata,
    producers,
    coordinator,
    topics,
    delete_records,
    configs,
    cluster,
    transactions,
)


def all_apis() -> Registry:
    """The registry of a broker."""
    registry = Registry(api for family in _FAMILIES for api in family.APIS)
    registry.add(api_versions(registry))
    return registry
