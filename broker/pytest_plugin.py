"""Fixtures for pytest: `broker`, a clean one for each test, and `minibroker`, one for the session.

Both run in a thread, so they serve asynchronous and synchronous tests alike; with xdist each worker
has its own. Nothing is imported before a test asks for one. A project that wants other options has
a fixture of the same name in its conftest.py, with `running_in_thread(num_partitions=3)`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .embedded import Broker


@pytest.fixture(scope="session")
def minibroker() -> Iterator["Broker"]:
    """A Kafka broker for all tests of the session; they share its topics."""
    from .embedded import running_in_thread

    with running_in_thread() as broker:
        yield broker


@pytest.fixture
def broker() -> Iterator["Broker"]:
    """A Kafka broker of this test's own, without any topics."""
    from .embedded import running_in_thread

    with running_in_thread() as broker:
        yield broker
