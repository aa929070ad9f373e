"""ErrorCode against what kio generated from Kafka's Errors.java."""

import kio.schema.errors

from minibroker.protocol.errors import ErrorCode, FrameTooLarge, Malformed


def test_codes_have_kafkas_names_and_numbers() -> None:
    theirs = {code.name.upper(): code.value for code in kio.schema.errors.ErrorCode}
    ours = {code.name: code.value for code in ErrorCode}

    # From 133 on kio's copy is older than 4.4.
    assert {n: v for n, v in ours.items() if n in theirs} == theirs
    assert all(ours[name] > max(theirs.values()) for name in ours.keys() - theirs.keys())


def test_codes_leave_no_gap() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 137))


def test_retriable_is_what_kafkas_clients_retry() -> None:
    theirs = {code.value for code in kio.schema.errors.ErrorCode if code.retriable}
    known = {code.value for code in kio.schema.errors.ErrorCode}

    assert {code.value for code in ErrorCode if code.retriable and code.value in known} == theirs
    assert not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.retriable


def test_a_frame_too_large_is_malformed() -> None:
    assert issubclass(FrameTooLarge, Malformed)
