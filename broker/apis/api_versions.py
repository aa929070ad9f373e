"""ApiVersions (18), v0-v5: what this broker serves.

Answerable at once, also with an unknown version: then it is error 35 in the oldest form, on a
connection that lives (`unsupported_version`). v3 brings the client's software name and version; v5
the cluster id and node id that the client expects (KIP-1242): one without the other is 42, a wrong
pair 129 REBOOTSTRAP_REQUIRED. Features are left out: none is served.
"""

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.api_versions import (
    API_VERSIONS,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)

from ..client import Call
from ..registry import Api, Registry, serve

API_VERSIONS_KEY = API_VERSIONS.key


def api_versions(registry: Registry) -> Api:
    """The API that tells of all of them, itself included."""
    advertised: list[tuple[ApiVersion, ...]] = []

    def handle(request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
        if call.api_version >= 3:
            call.client.software = (
                f"{request.client_software_name} {request.client_software_version}"
            )
        if not advertised:
            advertised.append(registry.advertised())
        error_code = _identity_problem(request, call)
        return ApiVersionsResponse(
            error_code=error_code, api_keys=() if error_code else advertised[0]
        )

    return serve(API_VERSIONS, handle)


def _identity_problem(request: ApiVersionsRequest, call: Call) -> ErrorCode:
    has_cluster, has_node = request.cluster_id is not None, request.node_id != -1
    if has_cluster != has_node:
        return ErrorCode.INVALID_REQUEST
    services = call.services
    expected = (services.cluster_id, services.config.node_id)
    if has_cluster and (request.cluster_id, request.node_id) != expected:
        return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE
