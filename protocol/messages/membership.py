"""Classic group membership: JoinGroup (11), SyncGroup (14), Heartbeat (12), LeaveGroup (13).

Follows Kafka 4.4's JoinGroup{Request,Response}.json, SyncGroup{Request,Response}.json,
Heartbeat{Request,Response}.json, LeaveGroup{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Message, nullable_since, since, until


class JoinGroupRequestProtocol(Message, kw_only=True):
    name: str
    metadata: bytes


class JoinGroupRequest(Message, kw_only=True):
    group_id: str
    session_timeout_ms: Int32
    rebalance_timeout_ms: Annotated[Int32, since(1)] = -1  # KIP-62
    member_id: str
    group_instance_id: Annotated[str | None, since(5)] = None  # KIP-345
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: Annotated[str | None, since(8)] = None  # KIP-800


class JoinGroupResponseMember(Message, kw_only=True):
    member_id: str
    group_instance_id: Annotated[str | None, since(5)] = None
    metadata: bytes


class JoinGroupResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(2)] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[str | None, since(7)] = None  # KIP-559
    protocol_name: Annotated[str | None, nullable_since(7)]
    leader: str
    skip_assignment: Annotated[bool, since(9)] = False  # KIP-814
    member_id: str
    members: tuple[JoinGroupResponseMember, ...]


JOIN_GROUP = ApiSchema(
    key=11,
    name="JoinGroup",
    oldest=0,
    newest=9,
    flexible_since=6,
    request=JoinGroupRequest,
    response=JoinGroupResponse,
)


class SyncGroupRequestAssignment(Message, kw_only=True):
    member_id: str
    assignment: bytes


class SyncGroupRequest(Message, kw_only=True):
    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: Annotated[str | None, since(3)] = None  # KIP-345
    protocol_type: Annotated[str | None, since(5)] = None  # KIP-559
    protocol_name: Annotated[str | None, since(5)] = None
    assignments: tuple[SyncGroupRequestAssignment, ...]


class SyncGroupResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[str | None, since(5)] = None  # KIP-559
    protocol_name: Annotated[str | None, since(5)] = None
    assignment: bytes


SYNC_GROUP = ApiSchema(
    key=14,
    name="SyncGroup",
    oldest=0,
    newest=5,
    flexible_since=4,
    request=SyncGroupRequest,
    response=SyncGroupResponse,
)


class HeartbeatRequest(Message, kw_only=True):
    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: Annotated[str | None, since(3)] = None  # KIP-345


class HeartbeatResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0


HEARTBEAT = ApiSchema(
    key=12,
    name="Heartbeat",
    oldest=0,
    newest=4,
    flexible_since=4,
    request=HeartbeatRequest,
    response=HeartbeatResponse,
)


class MemberIdentity(Message, kw_only=True):
    member_id: str
    group_instance_id: str | None = None
    reason: Annotated[str | None, since(5)] = None  # KIP-800


class LeaveGroupRequest(Message, kw_only=True):
    group_id: str
    member_id: Annotated[str, until(2)] = ""
    members: Annotated[tuple[MemberIdentity, ...], since(3)] = ()  # KIP-345


class MemberResponse(Message, kw_only=True):
    member_id: str
    group_instance_id: str | None
    error_code: Int16 = 0


class LeaveGroupResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    members: Annotated[tuple[MemberResponse, ...], since(3)] = ()


LEAVE_GROUP = ApiSchema(
    key=13,
    name="LeaveGroup",
    oldest=0,
    newest=5,
    flexible_since=4,
    request=LeaveGroupRequest,
    response=LeaveGroupResponse,
)
