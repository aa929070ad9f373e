"""Access control lists: DescribeAcls (29), CreateAcls (30), DeleteAcls (31).

Follows Kafka 4.4's DescribeAcls{Request,Response}.json, CreateAcls{Request,Response}.json,
DeleteAcls{Request,Response}.json.
"""

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message


class DescribeAclsRequest(Message, kw_only=True):
    resource_type_filter: Int8
    resource_name_filter: str | None
    pattern_type_filter: Int8 = 3
    principal_filter: str | None
    host_filter: str | None
    operation: Int8
    permission_type: Int8


class AclDescription(Message, kw_only=True):
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class DescribeAclsResource(Message, kw_only=True):
    resource_type: Int8
    resource_name: str
    pattern_type: Int8 = 3
    acls: tuple[AclDescription, ...]


class DescribeAclsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    resources: tuple[DescribeAclsResource, ...]


DESCRIBE_ACLS = ApiSchema(
    key=29,
    name="DescribeAcls",
    oldest=1,
    newest=3,
    flexible_since=2,
    request=DescribeAclsRequest,
    response=DescribeAclsResponse,
)


class AclCreation(Message, kw_only=True):
    resource_type: Int8
    resource_name: str
    resource_pattern_type: Int8 = 3
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class CreateAclsRequest(Message, kw_only=True):
    creations: tuple[AclCreation, ...]


class AclCreationResult(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None


class CreateAclsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: tuple[AclCreationResult, ...]


CREATE_ACLS = ApiSchema(
    key=30,
    name="CreateAcls",
    oldest=1,
    newest=3,
    flexible_since=2,
    request=CreateAclsRequest,
    response=CreateAclsResponse,
)


class DeleteAclsFilter(Message, kw_only=True):
    resource_type_filter: Int8
    resource_name_filter: str | None
    pattern_type_filter: Int8 = 3
    principal_filter: str | None
    host_filter: str | None
    operation: Int8
    permission_type: Int8


class DeleteAclsRequest(Message, kw_only=True):
    filters: tuple[DeleteAclsFilter, ...]


class DeleteAclsMatchingAcl(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
    pattern_type: Int8 = 3
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class DeleteAclsFilterResult(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...]


class DeleteAclsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    filter_results: tuple[DeleteAclsFilterResult, ...]


DELETE_ACLS = ApiSchema(
    key=31,
    name="DeleteAcls",
    oldest=1,
    newest=3,
    flexible_since=2,
    request=DeleteAclsRequest,
    response=DeleteAclsResponse,
)
