"""`minibroker ready` against a socket that answers, or does not."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from minibroker.cli import main
from minibroker.ready import wait_until_ready

API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 1, -1)
ANSWER = struct.pack(">iihi", 10, 1, 0, 0)

Serving = Callable[[socket.socket], None]


@contextmanager
def listening(*connections: Serving) -> Iterator[int]:
    """A port on which each connection in turn is served by one of the functions."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            for serve_connection in connections:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(20)
                    serve_connection(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            thread.join(timeout=20)


def answer(connection: socket.socket) -> None:
    assert connection.recv(64) == API_VERSIONS_V0
    connection.sendall(ANSWER)


def answer_in_pieces(connection: socket.socket) -> None:
    connection.recv(64)
    for byte in ANSWER:
        connection.sendall(bytes([byte]))


def hang_up(connection: socket.socket) -> None:
    connection.recv(64)


def hang_up_within_the_answer(connection: socket.socket) -> None:
    connection.recv(64)
    connection.sendall(ANSWER[:-1])


def stay_silent(connection: socket.socket) -> None:
    connection.recv(64)
    assert connection.recv(64) == b""


def speak_http(connection: socket.socket) -> None:
    connection.recv(64)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def refuse(connection: socket.socket) -> None:
    connection.recv(64)
    connection.sendall(struct.pack(">iih", 6, 1, 35))


def test_a_broker_that_answers_is_ready() -> None:
    with listening(answer) as port:
        assert wait_until_ready("127.0.0.1", port, 0) is None


def test_an_answer_may_come_in_pieces() -> None:
    with listening(answer_in_pieces) as port:
        assert wait_until_ready("127.0.0.1", port, 0) is None


def test_it_asks_again_until_the_broker_answers() -> None:
    with listening(hang_up, hang_up, answer) as port:
        assert wait_until_ready("127.0.0.1", port, 20) is None


def test_it_asks_once_if_it_is_not_to_wait() -> None:
    with listening(hang_up) as port:
        problem = wait_until_ready("127.0.0.1", port, 0)

    assert problem == f"127.0.0.1:{port} closed the connection without an answer"


def answer_another_request(connection: socket.socket) -> None:
    connection.recv(64)
    connection.sendall(struct.pack(">iih", 6, 2, 0))


@pytest.mark.parametrize("serve_connection", [speak_http, refuse, answer_another_request])
def test_what_is_no_broker_is_not_ready(serve_connection: Serving) -> None:
    with listening(serve_connection) as port:
        problem = wait_until_ready("127.0.0.1", port, 0)

    assert problem == f"what answers on 127.0.0.1:{port} is no Kafka broker"


def test_half_an_answer_is_none() -> None:
    with listening(hang_up_within_the_answer) as port:
        problem = wait_until_ready("127.0.0.1", port, 0)

    assert problem == f"127.0.0.1:{port} closed the connection within its answer"


def test_the_answer_is_read_to_its_end() -> None:
    ends: list[bytes] = []

    def answer_and_see_the_end(connection: socket.socket) -> None:
        answer(connection)
        ends.append(connection.recv(64))

    with listening(answer_and_see_the_end) as port:
        wait_until_ready("127.0.0.1", port, 0)

    assert ends == [b""]


def test_a_broker_that_hangs_is_not_waited_for_beyond_the_time() -> None:
    with listening(stay_silent) as port:
        problem = wait_until_ready("127.0.0.1", port, 0.1)

    assert problem is not None
    assert "timed out" in problem


def test_the_command_says_nothing_and_exits_with_0_when_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with listening(answer) as port, pytest.raises(SystemExit) as leaving:
        main(["ready", "--bootstrap", f"127.0.0.1:{port}", "--wait", "5"])

    assert leaving.value.code == 0
    assert capsys.readouterr() == ("", "")


def test_the_command_exits_with_1_and_one_line_when_nothing_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(SystemExit) as leaving:
        main(["ready", "--bootstrap", f"127.0.0.1:{port}"])

    printed = capsys.readouterr()
    assert leaving.value.code == 1
    assert printed.err == (f"minibroker: nothing answers on 127.0.0.1:{port}: Connection refused\n")
