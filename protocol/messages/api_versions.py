"""ApiVersions (18): which APIs and versions the other side speaks; asked before anything else.

Follows Kafka 4.4's ApiVersions{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Int64, Message, since, tagged


class ApiVersionsRequest(Message, kw_only=True):
    client_software_name: Annotated[str, since(3)] = ""  # KIP-511
    client_software_version: Annotated[str, since(3)] = ""
    cluster_id: Annotated[str | None, since(5)] = None  # KIP-1242; with node_id, or neither
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
    zk_migration_ready: Annotated[bool, since(3), tagged(3)] = False  # KIP-866


API_VERSIONS = ApiSchema(
    key=18,
    name="ApiVersions",
    oldest=0,
    newest=5,
    flexible_since=3,
    request=ApiVersionsRequest,
    response=ApiVersionsResponse,
)


def unsupported_version() -> bytes:
    """The body for an unknown version, in version 0, which every client can read (KIP-511).

    It names no API but this one, with our versions, for the client to ask again.
    """
    known = ApiVersion(
        api_key=API_VERSIONS.key,
        min_version=API_VERSIONS.advertised_oldest,
        max_version=API_VERSIONS.newest,
    )
    answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(known,))
    return API_VERSIONS.encode_response(0, answer)
