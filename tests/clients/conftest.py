"""One broker process for all client tests."""

from collections.abc import Iterator

import pytest

from minibroker import running_in_process


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    with running_in_process() as broker:
        yield broker.bootstrap
