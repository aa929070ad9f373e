"""The whole broker in a world of faults: nothing is lost, doubled or reordered, and all repeats."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minibroker.storage.idempotence import Accepted

from .scenario import LIVENESS_S, QUIET_AT_S, Report, WrongError, simulate
from .world import StuckError, World

SEEDS = range(1, 6)
LEAST = {"acknowledged": 3000, "connections": 50, "retries": 60, "fetched": 6000}
LEAST_FAULTS = 50
KINDS_OF_FAULTS = {f"{kind} {side}" for kind in ("cut", "stall", "silent")
                   for side in ("request", "answer")}  # fmt: skip


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return [simulate(seed) for seed in SEEDS]


def test_a_run_is_no_idle_run(reports: list[Report]) -> None:
    for report in reports:
        for name, least in LEAST.items():
            assert getattr(report, name) >= least, (name, report.summary)
        assert sum(report.faults.values()) >= LEAST_FAULTS, report.summary
        assert QUIET_AT_S <= report.ended_s <= QUIET_AT_S + LIVENESS_S


def test_every_kind_of_fault_occurs_and_producers_give_up_and_go_on(reports: list[Report]) -> None:
    assert {kind for report in reports for kind in report.faults} == KINDS_OF_FAULTS
    assert sum(report.epoch_bumps for report in reports) >= 3
    assert sum(report.given_up for report in reports) >= 10


def test_a_seed_repeats_byte_for_byte_and_another_differs(reports: list[Report]) -> None:
    again = simulate(SEEDS[0])

    assert again.trace == reports[0].trace
    assert len({report.trace_hash for report in reports}) == len(reports)


def test_a_seed_repeats_in_other_processes_with_other_hashes(reports: list[Report]) -> None:
    summaries = {
        subprocess.run(
            [sys.executable, "-m", "tests.simulation.scenario", str(SEEDS[0])],
            cwd=Path(__file__).parents[2],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        for hash_seed in ("0", "4711")
    }

    (output,) = summaries
    assert output == "\n".join([*reports[0].trace, reports[0].summary, ""])


def test_without_the_check_of_sequences_duplicates_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minibroker.storage.partition.decide", lambda *_: Accepted(row=5))

    with pytest.raises(WrongError, match=r"written twice.*-m tests\.simulation\.scenario 1$"):
        simulate(1)


def test_an_acknowledgement_without_a_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0

    def forgetful(self: object, *_: object) -> int:
        nonlocal written
        written += 1
        return written

    monkeypatch.setattr("minibroker.storage.memory.MemoryLog.append", forgetful)

    with pytest.raises(WrongError, match="acknowledged, but not there"):
        simulate(1)


def test_time_jumps_and_what_is_ready_keeps_its_order() -> None:
    world = World(0)  # type: ignore[abstract]  # it has what the broker uses
    seen: list[tuple[float, str]] = []

    def see(what: str) -> None:
        seen.append((world.time(), what))

    async def main() -> None:
        world.call_later(5.0, see, "later")
        world.call_at(1.0, see, "second")
        world.call_at(1.0, see, "third")
        world.call_soon(see, "first")
        world.call_later(2.0, see, "never").cancel()
        await asyncio.sleep(5.0)
        see("last")

    world.run_until_complete(main())

    assert seen == [(0, "first"), (1, "second"), (1, "third"), (5, "later"), (5, "last")]


def test_a_world_in_which_nothing_can_happen_says_so() -> None:
    world = World(0)  # type: ignore[abstract]  # it has what the broker uses

    async def main() -> None:
        await asyncio.Event().wait()

    coroutine = main()
    with pytest.raises(StuckError):
        world.run_until_complete(coroutine)
    coroutine.close()
