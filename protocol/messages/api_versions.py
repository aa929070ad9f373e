"""ApiVersions (18): which APIs and versions the other side speaks; asked before anything else.

Follows Kafka 4.4's ApiVersions{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Int64, Message, since, tagged


class ApiVersionsRequest(Message, kw_only=True):
    client_software_name: Annotated[str, since(3)] = ""
    client_software_version: Annotated[str, since(3)] = ""
    cluster_id: Annotated[str | None, since(5)] = None
    node_id: Annotated[Int32, since(5)] = -1


class ApiVersion(Message, kw_only=True):
    api_key: Int16
    min_version: Int16
    max_version: Int16


class SupportedFeatureKey(Message, kw_only=True):
    name: str
    min_version: Int16
    max_version: Int16


class FinalizedFeatureKey(Message, kw_only=True):
    name: str
    max_version_level: Int16
    min_version_level: Int16


class ApiVersionsResponse(Message, kw_only=True):
    error_code: Int16 = 0
    api_keys: tuple[ApiVersion, ...]
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    supported_features: Annotated[tuple[SupportedFeatureKey, ...], since(3), tagged(0)] = ()
    finalized_features_epoch: Annotated[Int64, since(3), tagged(1)] = -1
    finalized_features: Annotated[tuple[FinalizedFeatureKey, ...], since(3), tagged(2)] = ()
    zk_migration_ready: Annotated[bool, since(3), tagged(3)] = False


API_VERSIONS = ApiSchema(
    key=18,
    name="ApiVersions",
    oldest=0,
    newest=5,
    flexible_since=3,
    request=ApiVersionsRequest,
    response=ApiVersionsResponse,
)
