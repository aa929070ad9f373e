"""Configs: Describe- (32), Alter- (33), IncrementalAlterConfigs (44), ListConfigResources (74).

Follows Kafka 4.4's DescribeConfigs{Request,Response}.json, AlterConfigs{Request,Response}.json,
IncrementalAlterConfigs{Request,Response}.json, ListConfigResources{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message, since


class DescribeConfigsResource(Message, kw_only=True):
    resource_type: Int8
    resource_name: str
    configuration_keys: tuple[str, ...] | None


class DescribeConfigsRequest(Message, kw_only=True):
    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False
    include_documentation: Annotated[bool, since(3)] = False  # KIP-569


class DescribeConfigsSynonym(Message, kw_only=True):
    name: str
    value: str | None
    source: Int8


class DescribeConfigsResourceResult(Message, kw_only=True):
    name: str
    value: str | None
    read_only: bool
    config_source: Int8 = -1
    is_sensitive: bool
    synonyms: tuple[DescribeConfigsSynonym, ...]
    config_type: Annotated[Int8, since(3)] = 0
    documentation: Annotated[str | None, since(3)] = ""


class DescribeConfigsResult(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...]


class DescribeConfigsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: tuple[DescribeConfigsResult, ...]


DESCRIBE_CONFIGS = ApiSchema(
    key=32,
    name="DescribeConfigs",
    oldest=1,
    newest=4,
    flexible_since=4,
    request=DescribeConfigsRequest,
    response=DescribeConfigsResponse,
)


class AlterableConfig(Message, kw_only=True):
    name: str
    value: str | None


class AlterConfigsResource(Message, kw_only=True):
    resource_type: Int8
    resource_name: str
    configs: tuple[AlterableConfig, ...]


class AlterConfigsRequest(Message, kw_only=True):
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


class AlterConfigsResourceResponse(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8
    resource_name: str


class AlterConfigsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    responses: tuple[AlterConfigsResourceResponse, ...]


ALTER_CONFIGS = ApiSchema(
    key=33,
    name="AlterConfigs",
    oldest=0,
    newest=2,
    flexible_since=2,
    request=AlterConfigsRequest,
    response=AlterConfigsResponse,
)


class IncrementalAlterableConfig(Message, kw_only=True):
    name: str
    config_operation: Int8
    value: str | None


class IncrementalAlterConfigsResource(Message, kw_only=True):
    resource_type: Int8
    resource_name: str
    configs: tuple[IncrementalAlterableConfig, ...]


class IncrementalAlterConfigsRequest(Message, kw_only=True):
    resources: tuple[IncrementalAlterConfigsResource, ...]
    validate_only: bool


class IncrementalAlterConfigsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    responses: tuple[AlterConfigsResourceResponse, ...]


INCREMENTAL_ALTER_CONFIGS = ApiSchema(
    key=44,
    name="IncrementalAlterConfigs",
    oldest=0,
    newest=1,
    flexible_since=1,
    request=IncrementalAlterConfigsRequest,
    response=IncrementalAlterConfigsResponse,
)


class ListConfigResourcesRequest(Message, kw_only=True):
    resource_types: Annotated[tuple[Int8, ...], since(1)] = ()  # KIP-1142


class ConfigResource(Message, kw_only=True):
    resource_name: str
    resource_type: Annotated[Int8, since(1)] = 16


class ListConfigResourcesResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    config_resources: tuple[ConfigResource, ...]


LIST_CONFIG_RESOURCES = ApiSchema(
    key=74,
    name="ListConfigResources",
    oldest=0,
    newest=1,
    flexible_since=0,
    request=ListConfigResourcesRequest,
    response=ListConfigResourcesResponse,
)
