"""The answer to an ApiVersions request of a version that we do not know."""

from minibroker.protocol.messages.api_versions import unsupported_version


def test_an_unknown_version_is_answered_in_version_0_with_this_api_alone() -> None:
    # Closing breaks kafka-python, librdkafka and kafkajs; a flexible body breaks kafka-python.
    assert unsupported_version().hex(" ") == (
        "00 23 "  # UNSUPPORTED_VERSION
        "00 00 00 01 "  # one API:
        "00 12 00 00 00 05"  # ApiVersions, 0 to 5
    )
