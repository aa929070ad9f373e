"""FindCoordinator (10), v0-v6: groups are kept by this node; transactions by none.

Without this API librdkafka switches lz4 off silently. A transaction key is 53 with a message, on
which every client stops. v4 (KIP-699) asks for several keys at once. A key type that is not known
is 42.
"""

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.find_coordinator import (
    FIND_COORDINATOR,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

from ..client import Call
from ..registry import serve

GROUP, TRANSACTION = 0, 1
BATCHED_SINCE = 4


def handle(request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse:
    """The coordinator of each key."""
    if call.api_version >= BATCHED_SINCE:
        return FindCoordinatorResponse(
            coordinators=tuple(
                _coordinator(key, request.key_type, call) for key in request.coordinator_keys
            )
        )
    found = _coordinator(request.key, request.key_type, call)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _coordinator(key: str, key_type: int, call: Call) -> Coordinator:
    if key_type == GROUP:
        listener = call.client.listener
        return Coordinator(
            key=key,
            node_id=call.services.config.node_id,
            host=listener.advertised_host,
            port=listener.advertised_port,
        )
    if key_type == TRANSACTION:
        error_code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        message = "transactions are not supported by this broker: use no transactional.id"
    else:
        error_code = ErrorCode.INVALID_REQUEST
        message = f"expected key type 0 (group) or 1 (transaction), got {key_type}"
    return Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error_code, error_message=message
    )


APIS = (serve(FIND_COORDINATOR, handle, max_request_bytes=64 * 1024),)
