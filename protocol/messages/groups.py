"""Groups seen from outside: DescribeGroups (15), ListGroups (16), DeleteGroups (42).

Follows Kafka 4.4's DescribeGroups{Request,Response}.json, ListGroups{Request,Response}.json,
DeleteGroups{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Message, since


class DescribeGroupsRequest(Message, kw_only=True):
    groups: tuple[str, ...]
    include_authorized_operations: Annotated[bool, since(3)] = False


class DescribedGroupMember(Message, kw_only=True):
    member_id: str
    group_instance_id: Annotated[str | None, since(4)] = None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


class DescribedGroup(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(6)] = None  # KIP-1043
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: Annotated[Int32, since(3)] = -(1 << 31)


class DescribeGroupsResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    groups: tuple[DescribedGroup, ...]


DESCRIBE_GROUPS = ApiSchema(
    key=15,
    name="DescribeGroups",
    oldest=0,
    newest=6,
    flexible_since=5,
    request=DescribeGroupsRequest,
    response=DescribeGroupsResponse,
)


class ListGroupsRequest(Message, kw_only=True):
    states_filter: Annotated[tuple[str, ...], since(4)] = ()  # KIP-518
    types_filter: Annotated[tuple[str, ...], since(5)] = ()  # KIP-848


class ListedGroup(Message, kw_only=True):
    group_id: str
    protocol_type: str
    group_state: Annotated[str, since(4)] = ""
    group_type: Annotated[str, since(5)] = ""


class ListGroupsResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    groups: tuple[ListedGroup, ...]


LIST_GROUPS = ApiSchema(
    key=16,
    name="ListGroups",
    oldest=0,
    newest=5,
    flexible_since=3,
    request=ListGroupsRequest,
    response=ListGroupsResponse,
)


class DeleteGroupsRequest(Message, kw_only=True):
    groups_names: tuple[str, ...]


class DeletableGroupResult(Message, kw_only=True):
    group_id: str
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(3)] = None


class DeleteGroupsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: tuple[DeletableGroupResult, ...]


DELETE_GROUPS = ApiSchema(
    key=42,
    name="DeleteGroups",
    oldest=0,
    newest=3,
    flexible_since=2,
    request=DeleteGroupsRequest,
    response=DeleteGroupsResponse,
)
