"""A refusal on its way from a check to the answer of one item of a request."""

from minibroker.protocol.errors import ErrorCode


class RefusedError(Exception):
    """What one topic, partition or resource of a request is answered; the text is its
    error_message.
    """

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
