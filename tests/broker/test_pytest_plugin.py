"""The fixtures `broker` and `minibroker` as a user's test suite has them."""

import subprocess
import sys

import pytest

CONFIG = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"

SYNCHRONOUS = """
    import socket

    def reaches(broker):
        host, port = broker.bootstrap.rsplit(":", 1)
        socket.create_connection((host, int(port)), 5).close()

    def test_a_broker_of_its_own(broker):
        reaches(broker)

    def test_the_sessions_broker(minibroker, broker):
        reaches(minibroker)
        assert minibroker.bootstrap != broker.bootstrap
"""

ASYNCHRONOUS = """
    from aiokafka import AIOKafkaProducer

    async def first_offset(broker):
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            return (await producer.send_and_wait("t", b"v")).offset

    async def test_one(broker):
        assert await first_offset(broker) == 0

    async def test_another_finds_it_clean(broker):
        assert await first_offset(broker) == 0

    async def test_the_session_one(minibroker):
        assert await first_offset(minibroker) in (0, 1)

    async def test_the_session_two(minibroker):
        assert await first_offset(minibroker) in (0, 1)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(CONFIG)
    pytester.makepyfile(test_synchronous=SYNCHRONOUS, test_asynchronous=ASYNCHRONOUS)
    return pytester


def test_synchronous_and_asynchronous_tests_have_brokers(suite: pytest.Pytester) -> None:
    suite.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=6)


def test_with_xdist_each_worker_has_its_own(suite: pytest.Pytester) -> None:
    suite.runpytest_subprocess("-n", "2").assert_outcomes(passed=6)


def test_a_project_keeps_its_own_broker_and_storage(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        **{"broker": "NAME = 'mine'", "storage/__init__": "NAME = 'mine'"},
        test_own="""
        import broker as own_broker
        import storage as own_storage

        def test_both_are_mine(broker, minibroker):
            assert own_broker.NAME == own_storage.NAME == "mine"
        """,
    )

    suite.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=7)


def test_with_unittest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest
        import pytest
        from minibroker import running_in_thread

        class Test(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def keep(self, broker):
                self.broker = broker

            def test_a_fixture_is_taken_over(self):
                self.assertTrue(self.broker.bootstrap.startswith("localhost:"))

            def test_a_broker_runs(self):
                with running_in_thread(num_partitions=3) as broker:
                    self.assertNotEqual(broker.bootstrap, self.broker.bootstrap)
        """
    )

    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_fixture_of_the_projects_own_has_other_options(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from minibroker import running_in_thread

        @pytest.fixture
        def broker():
            with running_in_thread(host="127.0.0.1") as running:
                yield running
        """
    )
    pytester.makepyfile(
        """
        def test_it_is_the_one_of_the_project(broker):
            assert broker.bootstrap.startswith("127.0.0.1:")
        """
    )

    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_nothing_is_imported_before_a_test_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_without_a_broker():
            ours = {name for name in sys.modules if name.split(".")[0] == "minibroker"}
            assert ours == {"minibroker", "minibroker.pytest_plugin", "minibroker.version"}
        """
    )

    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import minibroker; "
        "print(sorted(n for n in set(sys.modules) - before if n.startswith('minibroker')))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=20
    ).stdout

    assert printed.strip() == "['minibroker', 'minibroker.version']"
