"""Client quotas: DescribeClientQuotas (48), AlterClientQuotas (49).

Follows Kafka 4.4's DescribeClientQuotas{Request,Response}.json,
AlterClientQuotas{Request,Response}.json.
"""

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message


class ComponentData(Message, kw_only=True):
    entity_type: str
    match_type: Int8
    match: str | None


class DescribeClientQuotasRequest(Message, kw_only=True):
    components: tuple[ComponentData, ...]
    strict: bool


class EntityData(Message, kw_only=True):
    entity_type: str
    entity_name: str | None


class ValueData(Message, kw_only=True):
    key: str
    value: float


class EntryData(Message, kw_only=True):
    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


class DescribeClientQuotasResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    entries: tuple[EntryData, ...] | None


DESCRIBE_CLIENT_QUOTAS = ApiSchema(
    key=48,
    name="DescribeClientQuotas",
    oldest=0,
    newest=1,
    flexible_since=1,
    request=DescribeClientQuotasRequest,
    response=DescribeClientQuotasResponse,
)


class AlterEntityData(Message, kw_only=True):
    entity_type: str
    entity_name: str | None


class OpData(Message, kw_only=True):
    key: str
    value: float
    remove: bool


class AlterEntryData(Message, kw_only=True):
    entity: tuple[AlterEntityData, ...]
    ops: tuple[OpData, ...]


class AlterClientQuotasRequest(Message, kw_only=True):
    entries: tuple[AlterEntryData, ...]
    validate_only: bool


class AlterEntryResult(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    entity: tuple[AlterEntityData, ...]


class AlterClientQuotasResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    entries: tuple[AlterEntryResult, ...]


ALTER_CLIENT_QUOTAS = ApiSchema(
    key=49,
    name="AlterClientQuotas",
    oldest=0,
    newest=1,
    flexible_since=1,
    request=AlterClientQuotasRequest,
    response=AlterClientQuotasResponse,
)
