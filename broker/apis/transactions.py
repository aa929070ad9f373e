"""ListTransactions (66), v0-v2, and DescribeTransactions (65), v0: there are none.

Tools ask; transactions are not supported. An id that is described is not found (105), an empty one
42. Left out: the pattern of v2 (KIP-1152) is not looked at, since there is nothing to match.
"""

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.transactions import (
    DESCRIBE_TRANSACTIONS,
    LIST_TRANSACTIONS,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

from ..client import Call
from ..registry import serve

STATES = (
    "CompleteAbort",
    "CompleteCommit",
    "Dead",
    "Empty",
    "Ongoing",
    "PrepareAbort",
    "PrepareCommit",
    "PrepareEpochFence",
)


def list_transactions(request: ListTransactionsRequest, call: Call) -> ListTransactionsResponse:
    """None; states that do not exist are named."""
    return ListTransactionsResponse(
        unknown_state_filters=tuple(s for s in request.state_filters if s not in STATES),
        transaction_states=(),
    )


def describe_transactions(
    request: DescribeTransactionsRequest, call: Call
) -> DescribeTransactionsResponse:
    """None of the ids is found."""
    return DescribeTransactionsResponse(
        transaction_states=tuple(
            TransactionState(
                error_code=(
                    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
                    if transactional_id
                    else ErrorCode.INVALID_REQUEST
                ),
                transactional_id=transactional_id,
                transaction_state="",
                transaction_timeout_ms=-1,
                transaction_start_time_ms=-1,
                producer_id=-1,
                producer_epoch=-1,
                topics=(),
            )
            for transactional_id in request.transactional_ids
        )
    )


APIS = (
    serve(LIST_TRANSACTIONS, list_transactions),
    serve(DESCRIBE_TRANSACTIONS, describe_transactions, max_request_bytes=64 * 1024),
)
