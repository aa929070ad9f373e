"""ApiVersions, over a real socket: what clients do with it is in the wire spec."""

import logging
from collections.abc import AsyncIterator
from struct import pack, unpack

import pytest

from minibroker import running
from minibroker.protocol.headers import RequestHeader, encode_request_header
from minibroker.protocol.messages.api_versions import (
    API_VERSIONS,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from minibroker.protocol.messages.metadata import METADATA, MetadataRequest
from tests.wire import Closed, Wire, connected

PRODUCE, FIND_COORDINATOR, INIT_PRODUCER_ID, CREATE_TOPICS = 0, 10, 22, 19


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with running() as broker, connected(broker.bootstrap) as one:
        yield one


def ranges(response: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


@pytest.mark.parametrize("version", range(6))
async def test_every_version_is_answered_with_the_same_list(wire: Wire, version: int) -> None:
    oldest = await wire.call(API_VERSIONS, 0, ApiVersionsRequest())

    response = await wire.call(API_VERSIONS, version, ApiVersionsRequest())

    assert response.error_code == 0
    assert response.api_keys == oldest.api_keys
    assert len(ranges(response)) == len(response.api_keys)


async def test_what_is_advertised_is_what_clients_infer_a_broker_from(wire: Wire) -> None:
    served = ranges(await wire.call(API_VERSIONS, 3, ApiVersionsRequest()))

    assert served[PRODUCE] == (0, 13), "KAFKA-18659: else librdkafka leaves out compression"
    assert served[FIND_COORDINATOR] == (0, 6), "without it librdkafka switches lz4 off"
    assert served[INIT_PRODUCER_ID] == (0, 5), "6 is unstable"
    assert served[CREATE_TOPICS] == (2, 7)
    assert served[METADATA.key] == (0, 13)
    assert served[API_VERSIONS.key] == (0, 5)


async def test_no_features_are_sent(wire: Wire) -> None:
    response = await wire.call(API_VERSIONS, 4, ApiVersionsRequest())

    assert (response.supported_features, response.finalized_features) == ((), ())


async def test_a_version_to_come_gets_35_in_a_v0_body_and_the_connection_lives(wire: Wire) -> None:
    header = RequestHeader(API_VERSIONS.key, 99, 7, "new")
    wire.send_frame(encode_request_header(header, flexible=True) + b"whatever comes in 99")

    answer = await wire.receive_frame()

    assert answer == pack(">ihihhh", 7, 35, 1, 18, 0, 5)
    assert (await wire.call(API_VERSIONS, 0, ApiVersionsRequest())).error_code == 0


async def test_the_header_of_a_flexible_answer_has_no_tags(wire: Wire) -> None:
    wire.send(API_VERSIONS, 3, ApiVersionsRequest())

    correlation_id, error_code = unpack(">ih", (await wire.receive_frame())[:6])

    assert (correlation_id, error_code) == (1, 0)


@pytest.mark.parametrize("right_cluster", [True, False, None])
@pytest.mark.parametrize("right_node", [True, False, None])
async def test_the_broker_that_a_client_expects(
    wire: Wire, right_cluster: bool | None, right_node: bool | None
) -> None:
    """KIP-1242: one without the other 42, a wrong pair 129, both empty is fine."""
    known = (await wire.call(METADATA, 9, MetadataRequest(topics=()))).cluster_id
    cluster_ids = {True: known, False: "another", None: None}
    node_ids = {True: 0, False: 5, None: -1}
    request = ApiVersionsRequest(
        cluster_id=cluster_ids[right_cluster], node_id=node_ids[right_node]
    )

    response = await wire.call(API_VERSIONS, 5, request)

    if (right_cluster is None) != (right_node is None):
        assert response.error_code == 42
    elif right_cluster is None or (right_cluster and right_node):
        assert response.error_code == 0
        assert response.api_keys
    else:
        assert response.error_code == 129


@pytest.mark.parametrize(("key", "version"), [(METADATA.key, 99), (PRODUCE, 2), (24, 0), (999, 0)])
async def test_any_other_unknown_api_or_version_is_told_in_the_log_and_closes(
    wire: Wire, caplog: pytest.LogCaptureFixture, key: int, version: int
) -> None:
    request = ApiVersionsRequest(client_software_name="lib", client_software_version="1.2")
    await wire.call(API_VERSIONS, 3, request)
    header = RequestHeader(key, version, 8, "me")

    with caplog.at_level(logging.WARNING):
        wire.send_frame(encode_request_header(header, flexible=False))
        with pytest.raises(Closed):
            await wire.receive_frame()

    (record,) = caplog.records
    assert "'me'" in record.getMessage()
    assert "lib 1.2" in record.getMessage()
    assert f"API {key} version {version}" in record.getMessage()
