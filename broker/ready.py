"""Whether a broker answers: what `minibroker ready`, a HEALTHCHECK and scripts ask.

One ApiVersions request over a plain socket; asyncio alone would cost more than the question.
"""

import socket
import struct
import time

API_VERSIONS = 18
_CORRELATION_ID = 1
_REQUEST = struct.pack(">ihhih", 10, API_VERSIONS, 0, _CORRELATION_ID, -1)
_SIZE = struct.Struct(">i")
_BEGINNING = struct.Struct(">ih")  # correlation id, error code
_LARGEST_ANSWER_BYTES = 64 * 1024
_ATTEMPT_S = 5.0
_PAUSE_S = 0.05


def wait_until_ready(host: str, port: int, wait_s: float) -> str | None:
    """None when the broker answers, else why it did not within the time.

    At least one attempt is made.
    """
    deadline_s = time.monotonic() + wait_s
    while True:
        left_s = deadline_s - time.monotonic()
        problem = _asked(host, port, min(_ATTEMPT_S, left_s) if left_s > _PAUSE_S else _ATTEMPT_S)
        if problem is None or time.monotonic() + _PAUSE_S > deadline_s:
            return problem
        # Nothing tells another process that a port has been opened: this has to be a pause.
        time.sleep(_PAUSE_S)


def _asked(host: str, port: int, timeout_s: float) -> str | None:
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(_REQUEST)
            return _judged(connection, f"{host}:{port}")
    except OSError as error:
        return f"nothing answers on {host}:{port}: {error.strerror or error}"


def _judged(connection: socket.socket, place: str) -> str | None:
    """Reads the answer to its end: leaving bytes behind would reset the broker's connection."""
    prefix = _received(connection, _SIZE.size)
    if len(prefix) < _SIZE.size:
        return f"{place} closed the connection without an answer"
    (size,) = _SIZE.unpack(prefix)
    if not _BEGINNING.size <= size <= _LARGEST_ANSWER_BYTES:
        return f"what answers on {place} is no Kafka broker"
    answer = _received(connection, size)
    if len(answer) < size:
        return f"{place} closed the connection within its answer"
    correlation_id, error_code = _BEGINNING.unpack_from(answer)
    if correlation_id != _CORRELATION_ID or error_code:
        return f"what answers on {place} is no Kafka broker"
    return None


def _received(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer if the peer closes."""
    answer = b""
    while len(answer) < size:
        chunk = connection.recv(size - len(answer))
        if not chunk:
            break
        answer += chunk
    return answer
