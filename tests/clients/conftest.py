"""One broker process for all client tests, and order behind clients that leave sockets open."""

import gc
import warnings
from collections.abc import Iterator

import pytest

from minibroker import running_in_process


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    with running_in_process() as broker:
        yield broker.bootstrap


@pytest.fixture(autouse=True)
def _sockets_that_clients_forget() -> Iterator[None]:
    """kafka-python does not close the sockets of connections that were cut: no failure of ours."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
