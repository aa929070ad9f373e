"""FindCoordinator (10): which node keeps a group or a transactional id.

Follows Kafka 4.4's FindCoordinator{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message, since, until


class FindCoordinatorRequest(Message, kw_only=True):
    key: Annotated[str, until(3)] = ""
    key_type: Annotated[Int8, since(1)] = 0  # 0 group, 1 transaction, 2 share
    coordinator_keys: Annotated[tuple[str, ...], since(4)] = ()  # KIP-699


class Coordinator(Message, kw_only=True):
    key: str
    node_id: Int32
    host: str
    port: Int32
    error_code: Int16 = 0
    error_message: str | None = None


class FindCoordinatorResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Annotated[Int16, until(3)] = 0
    error_message: Annotated[str | None, since(1), until(3)] = None
    node_id: Annotated[Int32, until(3)] = 0
    host: Annotated[str, until(3)] = ""
    port: Annotated[Int32, until(3)] = 0
    coordinators: Annotated[tuple[Coordinator, ...], since(4)] = ()


FIND_COORDINATOR = ApiSchema(
    key=10,
    name="FindCoordinator",
    oldest=0,
    newest=6,
    flexible_since=3,
    request=FindCoordinatorRequest,
    response=FindCoordinatorResponse,
)
