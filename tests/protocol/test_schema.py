"""What a field table means, on one small message; and the rules that all tables keep."""

import re
from pathlib import Path
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

import pytest
from msgspec import NODEFAULT

from minibroker.protocol.errors import Malformed
from minibroker.protocol.fields import ArrayOf, StructOf, field_table
from minibroker.protocol.messages import all_schemas
from minibroker.protocol.messages.api_versions import API_VERSIONS
from minibroker.protocol.messages.metadata import METADATA
from minibroker.protocol.messages.sasl import SASL_HANDSHAKE
from minibroker.protocol.schema import AnySchema, ApiSchema
from minibroker.protocol.types import (
    Int8,
    Int16,
    Int32,
    Message,
    Records,
    nullable_since,
    since,
    tagged,
    until,
)


class Inner(Message, kw_only=True):
    id: Int16


class Leader(Message, kw_only=True):
    id: Int32 = -1


class Sample(Message, kw_only=True):
    flag: bool
    old: Annotated[Int32, until(1)] = 7
    name: Annotated[str | None, nullable_since(1)]
    inner: Annotated[Inner | None, since(1)] = None
    items: tuple[Inner, ...]
    numbers: tuple[Int8, ...]
    records: Records | None
    second: Annotated[Int32, since(2), tagged(1)] = 5
    first: Annotated[Leader, since(2), tagged(0)] = Leader()


SAMPLE = ApiSchema(
    key=1000,
    name="Sample",
    oldest=0,
    newest=2,
    flexible_since=2,
    request=Sample,
    response=Sample,
)
AnnotatedAlias = type(Annotated[int, 0])
SMALL = Sample(flag=True, old=1, name="n", items=(), numbers=(), records=b"")


def decode(version: int, text: str) -> Sample:
    return SAMPLE.decode_request(version, memoryview(bytes.fromhex(text)))


def test_a_legacy_version_is_the_fields_one_after_the_other() -> None:
    value = Sample(
        flag=True, old=1, name="ab", items=(Inner(id=2),), numbers=(-1, 3), records=b"xyz"
    )

    written = SAMPLE.encode_request(0, value)

    assert written.hex(" ") == (
        "01 00 00 00 01 00 02 61 62 00 00 00 01 00 02 00 00 00 02 ff 03 00 00 00 03 78 79 7a"
    )
    assert SAMPLE.decode_request(0, memoryview(written)) == value


def test_a_flexible_version_has_compact_lengths_and_tags() -> None:
    value = Sample(
        flag=False,
        name=None,
        inner=Inner(id=1),
        items=(Inner(id=2),),
        numbers=(-1,),
        records=None,
        second=9,
        first=Leader(id=4),
    )

    written = SAMPLE.encode_request(2, value)

    assert written.hex(" ") == (
        "00 00 01 00 01 00 02 00 02 00 02 ff 00 "  # ordered fields, a tag section in each struct
        "02 00 05 00 00 00 04 00 01 04 00 00 00 09"  # two tags in their order
    )
    assert SAMPLE.decode_request(2, memoryview(written)) == value


def test_a_tag_with_its_default_is_not_written() -> None:
    assert SAMPLE.encode_request(2, SMALL).hex(" ") == "01 02 6e ff 01 01 01 00"


def test_a_field_that_the_version_lacks_is_left_out_and_read_as_its_default() -> None:
    decoded = SAMPLE.decode_request(2, memoryview(SAMPLE.encode_request(2, SMALL)))

    assert SMALL.old == 1
    assert decoded.old == 7


def test_records_are_a_view_of_the_frame() -> None:
    frame = SAMPLE.encode_request(0, Sample(flag=True, name="", items=(), numbers=(), records=b"r"))

    records = SAMPLE.decode_request(0, memoryview(frame)).records

    assert isinstance(records, memoryview)
    assert records.obj is frame


def test_bytes_behind_the_message_are_ignored() -> None:
    # librdkafka's Metadata v9+ for all topics leaves three.
    written = SAMPLE.encode_request(2, SMALL)

    assert SAMPLE.decode_request(2, memoryview(written + b"abc")) == decode(2, written.hex())


def test_decoding_starts_at_the_offset() -> None:
    written = SAMPLE.encode_response(2, SMALL)

    assert SAMPLE.decode_response(2, memoryview(b"header" + written), 6) == decode(2, written.hex())


def test_buffers_keep_large_records_apart_and_join_the_rest() -> None:
    records = memoryview(bytes(10_000))
    value = Sample(flag=True, name="n", items=(), numbers=(), records=records, second=1)

    head, middle, tail = SAMPLE.encode_response_buffers(2, value)

    assert middle is records
    assert b"".join((head, middle, tail)) == SAMPLE.encode_response(2, value)


@pytest.mark.parametrize(
    ("version", "text", "complaint"),
    [
        (0, "", "unpack_from requires"),
        (0, "01 00000001 ffff 00000000 00000000 00000000", "name is null"),  # allowed from 1 on
        (0, "01 00000001 0002 61", "name is cut off"),
        (0, "01 00000001 0001 ff 00000000 00000000 00000000", "can't decode byte 0xff"),
        (0, "01 00000001 0000 ffffffff", "items is null"),
        (0, "01 00000001 0000 7fffffff 00000000", "items announces more than was sent"),
        (0, "01 00000001 0000 00000002 000000", "items announces more than was sent"),
        (0, "01 00000001 0000 00000000 00000003 0000", "numbers announces more than was sent"),
        (0, "01 00000001 0000 00000000 00000000 7fffffff 00", "records is cut off"),
        (2, "01 00 ff 03 0000000000", "items announces more than was sent"),
        (2, "01 00 ff 00", "items is null"),
        (2, "01 00 ff 01 01 01 02 0000 05", "2 tags in 3 bytes"),
        (2, "01 00 ff 01 01 01 02 0900 0900", "tag 9 after tag 9"),
        (2, "01 00 ff 01 01 01 02 0900 0800", "tag 8 after tag 9"),
        (2, "01 00 ff 01 01 01 01 0909 00", "a tag of 9 bytes where 1 are left"),
        (2, "01 00 ff 01 01 01 01 0104 00", "a tag of 4 bytes where 1 are left"),
        (2, "01 00 ff 01 01 01 01 0105 0000000000", "second has another size than its tag"),
        (2, "01 ffffffffff01", "a varint above 32 bits"),
        (2, "01 ffffffff1f", "a varint above 32 bits"),
        (2, "01 818002" + "61" * 0x8000 + "ff 01 01 01 00", "a string above 32767 bytes"),
    ],
)
def test_what_is_wrong_is_malformed(version: int, text: str, complaint: str) -> None:
    with pytest.raises(Malformed, match=complaint):
        decode(version, text)


def test_unknown_tags_are_skipped() -> None:
    assert decode(2, "01 00 ff 01 01 01 03 0104 00000009 0702 aaaa 0800").second == 9


def test_a_version_that_is_not_served_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="Sample has versions 0 to 2: 3"):
        SAMPLE.decode_request(3, memoryview(b""))


# The table of the specification, written down a second time: key, versions, first flexible one.
SERVED = """
Produce 0: 3-13, 9 · Fetch 1: 4-18, 12 · ListOffsets 2: 1-11, 6 · Metadata 3: 0-13, 9 ·
OffsetCommit 8: 2-10, 8 · OffsetFetch 9: 1-10, 6 · FindCoordinator 10: 0-6, 3 ·
JoinGroup 11: 0-9, 6 · Heartbeat 12: 0-4, 4 · LeaveGroup 13: 0-5, 4 · SyncGroup 14: 0-5, 4 ·
DescribeGroups 15: 0-6, 5 · ListGroups 16: 0-5, 3 · SaslHandshake 17: 0-1, never ·
ApiVersions 18: 0-5, 3 · CreateTopics 19: 2-7, 5 · DeleteTopics 20: 1-6, 4 ·
DeleteRecords 21: 0-2, 2 · InitProducerId 22: 0-5, 2 · OffsetForLeaderEpoch 23: 2-4, 4 ·
DescribeAcls 29: 1-3, 2 · CreateAcls 30: 1-3, 2 · DeleteAcls 31: 1-3, 2 ·
DescribeConfigs 32: 1-4, 4 · AlterConfigs 33: 0-2, 2 · AlterReplicaLogDirs 34: 1-2, 2 ·
DescribeLogDirs 35: 1-5, 2 · SaslAuthenticate 36: 0-2, 2 · CreatePartitions 37: 0-3, 2 ·
DeleteGroups 42: 0-3, 2 · ElectLeaders 43: 0-2, 2 · IncrementalAlterConfigs 44: 0-1, 1 ·
AlterPartitionReassignments 45: 0-1, 0 · ListPartitionReassignments 46: 0-0, 0 ·
OffsetDelete 47: 0-0, never · DescribeClientQuotas 48: 0-1, 1 · AlterClientQuotas 49: 0-1, 1 ·
DescribeUserScramCredentials 50: 0-0, 0 · AlterUserScramCredentials 51: 0-0, 0 ·
DescribeCluster 60: 0-2, 0 · DescribeProducers 61: 0-0, 0 · DescribeTransactions 65: 0-0, 0 ·
ListTransactions 66: 0-2, 0 · ConsumerGroupHeartbeat 68: 0-1, 0 ·
ConsumerGroupDescribe 69: 0-1, 0 · ListConfigResources 74: 0-1, 0 ·
DescribeTopicPartitions 75: 0-0, 0
"""


def test_all_apis_of_the_specification_are_declared_with_its_versions() -> None:
    rows = re.findall(r"(\w+) (\d+): (\d+)-(\d+), (\d+|never)", SERVED)
    expected = {
        (name, int(key), int(oldest), int(newest), None if since == "never" else int(since))
        for name, key, oldest, newest, since in rows
    }

    declared = {(s.name, s.key, s.oldest, s.newest, s.flexible_since) for s in all_schemas()}

    assert declared == expected


def test_only_produce_advertises_more_than_is_served() -> None:
    # KAFKA-18659: otherwise older librdkafka sends compressed topics without compression.
    wider = {s.name: s.advertised_oldest for s in all_schemas() if s.advertised_oldest != s.oldest}

    assert wider == {"Produce": 0}


def test_the_response_header_of_api_versions_never_has_tags() -> None:
    assert [API_VERSIONS.response_header_version(v) for v in range(6)] == [0, 0, 0, 0, 0, 0]
    assert [API_VERSIONS.request_header_version(v) for v in range(6)] == [1, 1, 1, 2, 2, 2]


def test_other_headers_have_tags_from_the_first_flexible_version_on() -> None:
    assert [METADATA.response_header_version(v) for v in (8, 9)] == [0, 1]
    assert [METADATA.request_header_version(v) for v in (8, 9)] == [1, 2]
    assert SASL_HANDSHAKE.request_header_version(1) == 1


def structs_of(message: type[Message]) -> set[type[Message]]:
    found = {message}
    for field in field_table(message):
        kind = field.kind.element if isinstance(field.kind, ArrayOf) else field.kind
        if isinstance(kind, StructOf):
            found |= structs_of(kind.message)
    return found


@pytest.mark.parametrize("schema", all_schemas(), ids=lambda schema: schema.name)
def test_a_field_may_be_none_exactly_where_the_table_allows_a_null(schema: AnySchema) -> None:
    for message in structs_of(schema.request) | structs_of(schema.response):
        for field in field_table(message):
            annotation = message.__annotations__[field.name]
            if isinstance(annotation, AnnotatedAlias):
                annotation = get_args(annotation)[0]
            origin: object = get_origin(annotation)
            is_union = origin is Union or origin is UnionType
            is_optional = is_union and type(None) in get_args(annotation)

            assert is_optional == (field.nullable_since is not None), (message, field)
            assert is_optional or field.default is not None, (message, field)


@pytest.mark.parametrize("schema", all_schemas(), ids=lambda schema: schema.name)
def test_a_field_that_some_version_lacks_has_a_default(schema: AnySchema) -> None:
    for message in (schema.request, schema.response):
        for field in field_table(message):
            is_partial = field.first > schema.oldest or field.last < schema.newest
            if is_partial or field.tag is not None:
                assert field.default is not NODEFAULT, (message, field)


def test_each_message_file_opens_with_its_subject() -> None:
    folder = Path(__file__).parents[2] / "protocol" / "messages"

    for file in folder.glob("*.py"):
        assert file.read_text().startswith('"""'), file
