"""What the tests of this folder share."""

import pytest

from .world import World


@pytest.fixture
def world() -> World:
    """A fresh one for each test."""
    return World()
