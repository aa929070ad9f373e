"""DescribeConfigs (32), v1-v4; AlterConfigs (33), v0-v2; IncrementalAlterConfigs (44), v0-v1.

Topics can be described and altered, brokers be described: their keys are those of the start. Names
that were asked for and that there are none of are left out. AlterConfigs replaces all of a topic's
settings; IncrementalAlterConfigs (KIP-339) sets, deletes (back to the default), appends to and
subtracts from lists; on anything else than a list the last two are 40, and a key that comes twice
is 42, as are a null for a value and a resource that comes twice. A resource is altered as a whole
or not at all.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TypeVar

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.configs import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from minibroker.storage.catalog import Topic
from minibroker.storage.settings import InvalidConfig
from minibroker.storage.topic_config import (
    ConfigEntry,
    appended,
    describe,
    subtracted,
    validate,
)
from minibroker.storage.topic_names import name_problem

from ..broker_description import describe_broker
from ..client import Call
from ..registry import serve
from .refusal import RefusedError

TOPIC, BROKER = 2, 4

MAX_CONFIG_REQUEST_BYTES = 256 * 1024
"""A resource of a few bytes is answered with all of its settings, or with a sentence."""

ResourceT = TypeVar("ResourceT", AlterConfigsResource, IncrementalAlterConfigsResource)


class Operation(IntEnum):
    """What IncrementalAlterConfigs does with one key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def describe_configs(request: DescribeConfigsRequest, call: Call) -> DescribeConfigsResponse:
    """The settings of each resource."""
    return DescribeConfigsResponse(
        results=tuple(_describe(resource, request, call) for resource in request.resources)
    )


def _describe(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, call: Call
) -> DescribeConfigsResult:
    try:
        entries = _entries(resource, call)
    except RefusedError as refusal:
        return DescribeConfigsResult(
            error_code=refusal.error_code,
            error_message=str(refusal),
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=(),
        )
    wanted = resource.configuration_keys
    return DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=tuple(
            _shown(entry, request) for entry in entries if not wanted or entry.name in wanted
        ),
    )


def _entries(resource: DescribeConfigsResource, call: Call) -> tuple[ConfigEntry, ...]:
    config = call.services.config
    if resource.resource_type == TOPIC:
        topic = _topic(resource.resource_name, call)
        return describe(topic.overrides, config.broker_defaults)
    if resource.resource_type == BROKER:
        if resource.resource_name not in ("", str(config.node_id)):
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"expected broker {config.node_id}, got {resource.resource_name!r}",
            )
        return describe_broker(config) if resource.resource_name else ()
    raise RefusedError(
        ErrorCode.INVALID_REQUEST,
        f"expected resource type 2 (topic) or 4 (broker), got {resource.resource_type}",
    )


def _shown(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=False,
        synonyms=tuple(DescribeConfigsSynonym(name=n, value=v, source=s) for n, v, s in synonyms),
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )


def alter_configs(request: AlterConfigsRequest, call: Call) -> AlterConfigsResponse:
    """Replace all settings of each topic."""

    def replaced(resource: AlterConfigsResource, topic: Topic) -> dict[str, str]:
        return {
            config.name: validate(config.name, _given(config.name, config.value))
            for config in resource.configs
        }

    return AlterConfigsResponse(
        responses=_alter_all(request.resources, replaced, request.validate_only, call)
    )


def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, call: Call
) -> IncrementalAlterConfigsResponse:
    """Change some settings of each topic."""
    defaults = call.services.config.broker_defaults

    def changed(resource: IncrementalAlterConfigsResource, topic: Topic) -> dict[str, str]:
        overrides = dict(topic.overrides)
        for config in resource.configs:
            _change(overrides, config, defaults)
        return overrides

    return IncrementalAlterConfigsResponse(
        responses=_alter_all(request.resources, changed, request.validate_only, call)
    )


def _change(
    overrides: dict[str, str], config: IncrementalAlterableConfig, defaults: Mapping[str, str]
) -> None:
    name = config.name
    if config.config_operation == Operation.DELETE:
        overrides.pop(name, None)
        return
    value = _given(name, config.value)
    match config.config_operation:
        case Operation.SET:
            overrides[name] = validate(name, value)
        case Operation.APPEND:
            overrides[name] = appended(name, value, overrides, defaults)
        case Operation.SUBTRACT:
            overrides[name] = subtracted(name, value, overrides, defaults)
        case other:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"expected a config operation of 0 to 3, got {other}"
            )


def _given(name: str, value: str | None) -> str:
    if value is None:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"expected a value for {name!r}, got null")
    return value


def _alter_all(
    resources: tuple[ResourceT, ...],
    overrides_of: Callable[[ResourceT, Topic], dict[str, str]],
    validate_only: bool,
    call: Call,
) -> tuple[AlterConfigsResourceResponse, ...]:
    counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)

    def checked(resource: ResourceT, topic: Topic) -> dict[str, str]:
        if counts[resource.resource_type, resource.resource_name] > 1:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"topic {topic.name!r} is named twice in one request"
            )
        return overrides_of(resource, topic)

    return tuple(_alter(resource, checked, validate_only, call) for resource in resources)


def _alter(
    resource: ResourceT,
    overrides_of: Callable[[ResourceT, Topic], dict[str, str]],
    validate_only: bool,
    call: Call,
) -> AlterConfigsResourceResponse:
    error_code, message = ErrorCode.NONE, None
    try:
        topic = _alterable(resource, call)
        overrides = overrides_of(resource, topic)
        call.services.catalog.resolve(overrides)
        if not validate_only:
            call.services.catalog.alter(topic, overrides)
    except RefusedError as refusal:
        error_code, message = refusal.error_code, str(refusal)
    except InvalidConfig as error:
        error_code, message = ErrorCode.INVALID_CONFIG, str(error)
    return AlterConfigsResourceResponse(
        error_code=error_code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _alterable(
    resource: AlterConfigsResource | IncrementalAlterConfigsResource, call: Call
) -> Topic:
    if resource.resource_type != TOPIC:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"expected resource type 2 (topic), got {resource.resource_type}: only topics can be"
            " altered while the broker runs, the broker's own keys are given at its start",
        )
    repeated = [
        name
        for name, count in Counter(config.name for config in resource.configs).items()
        if count > 1
    ]
    if repeated:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"config {repeated[0]!r} is given twice")
    return _topic(resource.resource_name, call)


def _topic(name: str, call: Call) -> Topic:
    if problem := name_problem(name):
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    topic = call.services.catalog.find(name)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
    return topic


APIS = (
    serve(DESCRIBE_CONFIGS, describe_configs, max_request_bytes=MAX_CONFIG_REQUEST_BYTES),
    serve(ALTER_CONFIGS, alter_configs, max_request_bytes=MAX_CONFIG_REQUEST_BYTES),
    serve(
        INCREMENTAL_ALTER_CONFIGS,
        incremental_alter_configs,
        max_request_bytes=MAX_CONFIG_REQUEST_BYTES,
    ),
)
