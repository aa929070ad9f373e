"""Read-only views of transactions: DescribeTransactions (65), ListTransactions (66).

Follows Kafka 4.4's DescribeTransactions{Request,Response}.json,
ListTransactions{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Int64, Message, since


class DescribeTransactionsRequest(Message, kw_only=True):
    transactional_ids: tuple[str, ...]


class TopicData(Message, kw_only=True):
    topic: str
    partitions: tuple[Int32, ...]


class TransactionState(Message, kw_only=True):
    error_code: Int16 = 0
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: Int32
    transaction_start_time_ms: Int64
    producer_id: Int64
    producer_epoch: Int16
    topics: tuple[TopicData, ...]


class DescribeTransactionsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    transaction_states: tuple[TransactionState, ...]


DESCRIBE_TRANSACTIONS = ApiSchema(
    key=65,
    name="DescribeTransactions",
    oldest=0,
    newest=0,
    flexible_since=0,
    request=DescribeTransactionsRequest,
    response=DescribeTransactionsResponse,
)


class ListTransactionsRequest(Message, kw_only=True):
    state_filters: tuple[str, ...]
    producer_id_filters: tuple[Int64, ...]
    duration_filter: Annotated[Int64, since(1)] = -1  # KIP-994
    transactional_id_pattern: Annotated[str | None, since(2)] = None  # KIP-1152


class ListedTransactionState(Message, kw_only=True):
    transactional_id: str
    producer_id: Int64
    transaction_state: str


class ListTransactionsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: tuple[str, ...]
    transaction_states: tuple[ListedTransactionState, ...]


LIST_TRANSACTIONS = ApiSchema(
    key=66,
    name="ListTransactions",
    oldest=0,
    newest=2,
    flexible_since=0,
    request=ListTransactionsRequest,
    response=ListTransactionsResponse,
)
