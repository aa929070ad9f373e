"""All messages. A broker imports the modules of the APIs that it serves; tests ask for all."""

from importlib import import_module
from pkgutil import iter_modules

from minibroker.protocol.schema import AnySchema, ApiSchema


def all_schemas() -> tuple[AnySchema, ...]:
    """Every declared API by key. Imports all modules of this package."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    schemas = [value for m in modules for value in vars(m).values() if isinstance(value, ApiSchema)]
    return tuple(sorted(schemas, key=lambda schema: schema.key))
