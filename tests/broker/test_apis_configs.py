"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs, over a real socket."""

from collections.abc import AsyncIterator, Sequence

import pytest

from minibroker import running
from minibroker.protocol.messages.configs import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from tests.wire import Wire, connected

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
OF_THE_TOPIC, OF_THE_BROKER, DEFAULT = 1, 4, 5
Change = tuple[str, int, str | None]


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A client of a broker with a topic t and a default of its own."""
    settings = {"log.retention.bytes": 1000}
    async with running(topic="t", settings=settings) as broker, connected(broker.bootstrap) as one:
        yield one


async def describe_resource(
    wire: Wire,
    name: str = "t",
    keys: tuple[str, ...] | None = None,
    *,
    kind: int = TOPIC,
    version: int = 4,
    with_everything: bool = True,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    request = DescribeConfigsRequest(
        resources=(resource,),
        include_synonyms=with_everything,
        include_documentation=with_everything,
    )
    (result,) = (await wire.call(DESCRIBE_CONFIGS, version, request)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


async def describe(
    wire: Wire, *keys: str, version: int = 4
) -> dict[str, DescribeConfigsResourceResult]:
    result = await describe_resource(wire, keys=keys or None, version=version)
    assert result.error_code == 0
    return {config.name: config for config in result.configs}


async def value(wire: Wire, key: str) -> tuple[str | None, int]:
    """A setting of the topic, and its source."""
    config = (await describe(wire, key))[key]
    return config.value, config.config_source


async def change(
    wire: Wire,
    *changes: Change,
    name: str = "t",
    kind: int = TOPIC,
    version: int = 1,
    validate_only: bool = False,
) -> AlterConfigsResourceResponse:
    resource = IncrementalAlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            IncrementalAlterableConfig(name=key, config_operation=operation, value=text)
            for key, operation, text in changes
        ),
    )
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    (result,) = (await wire.call(INCREMENTAL_ALTER_CONFIGS, version, request)).responses
    return result


async def alter(
    wire: Wire,
    *resources: tuple[str, Sequence[tuple[str, str | None]]],
    version: int = 2,
    validate_only: bool = False,
) -> list[int]:
    request = AlterConfigsRequest(
        resources=tuple(
            AlterConfigsResource(
                resource_type=TOPIC,
                resource_name=name,
                configs=tuple(AlterableConfig(name=key, value=text) for key, text in configs),
            )
            for name, configs in resources
        ),
        validate_only=validate_only,
    )
    response = await wire.call(ALTER_CONFIGS, version, request)
    return [result.error_code for result in response.responses]


@pytest.mark.parametrize("version", range(1, 5))
async def test_every_setting_of_a_topic_is_described(wire: Wire, version: int) -> None:
    configs = await describe(wire, version=version)

    assert len(configs) > 30
    assert configs["cleanup.policy"].value == "delete"
    assert configs["cleanup.policy"].config_type == (7 if version >= 3 else 0)
    assert bool(configs["cleanup.policy"].documentation) == (version >= 3)
    assert not any(config.read_only or config.is_sensitive for config in configs.values())


async def test_only_the_keys_that_were_asked_for_and_exist_are_described(wire: Wire) -> None:
    configs = await describe(wire, "retention.ms", "nope", "cleanup.policy")

    assert set(configs) == {"retention.ms", "cleanup.policy"}


async def test_a_value_has_its_source_and_what_else_it_could_come_from(wire: Wire) -> None:
    await change(wire, ("retention.bytes", SET, "5"))

    config = (await describe(wire, "retention.bytes"))["retention.bytes"]

    assert (config.value, config.config_source) == ("5", OF_THE_TOPIC)
    assert [(one.name, one.value, one.source) for one in config.synonyms] == [
        ("retention.bytes", "5", OF_THE_TOPIC),
        ("log.retention.bytes", "1000", OF_THE_BROKER),
        ("log.retention.bytes", "-1", DEFAULT),
    ]


async def test_synonyms_and_documentation_are_left_out_unless_asked_for(wire: Wire) -> None:
    result = await describe_resource(wire, with_everything=False)

    assert all(not config.synonyms and not config.documentation for config in result.configs)


async def test_the_broker_is_described_by_its_id(wire: Wire) -> None:
    keys = ("num.partitions", "log.retention.bytes", "nope")
    result = await describe_resource(wire, "0", keys, kind=BROKER)

    assert {one.name: (one.value, one.config_source) for one in result.configs} == {
        "num.partitions": ("1", DEFAULT),
        "log.retention.bytes": ("1000", OF_THE_BROKER),
    }
    assert all(one.read_only for one in result.configs)


@pytest.mark.parametrize(
    ("kind", "name", "error_code"),
    [
        (TOPIC, "nope", 3),
        (TOPIC, "bad name", 17),
        (TOPIC, "", 17),
        (BROKER, "1", 42),
        (BROKER, "x", 42),
        (99, "t", 42),
    ],
)
async def test_what_cannot_be_described_is_refused_with_the_reason(
    wire: Wire, kind: int, name: str, error_code: int
) -> None:
    result = await describe_resource(wire, name, kind=kind)

    assert (result.error_code, result.configs) == (error_code, ())
    assert result.error_message


@pytest.mark.parametrize("version", [0, 1])
async def test_a_setting_is_set_and_restored(wire: Wire, version: int) -> None:
    done = await change(wire, ("retention.ms", SET, " 5 "), version=version)

    assert (done.error_code, done.error_message) == (0, None)
    assert await value(wire, "retention.ms") == ("5", OF_THE_TOPIC)

    await change(wire, ("retention.ms", DELETE, None), version=version)

    assert await value(wire, "retention.ms") == ("604800000", DEFAULT)


async def test_lists_are_appended_to_and_subtracted_from(wire: Wire) -> None:
    steps = []
    for operation, text in [(APPEND, "compact"), (SUBTRACT, "delete"), (SUBTRACT, "compact")]:
        assert (await change(wire, ("cleanup.policy", operation, text))).error_code == 0
        steps.append(await value(wire, "cleanup.policy"))

    assert steps == [
        ("delete,compact", OF_THE_TOPIC),
        ("compact", OF_THE_TOPIC),
        ("", OF_THE_TOPIC),
    ]


@pytest.mark.parametrize(
    ("changes", "error_code", "told"),
    [
        ([("retention.ms", APPEND, "5")], 40, "LIST"),
        ([("retention.ms", SUBTRACT, "5")], 40, "LIST"),
        ([("retention.ms", SET, "x")], 40, "retention.ms"),
        ([("nope", SET, "1")], 40, "nope"),
        ([("cleanup.policy", APPEND, "nope")], 40, "nope"),
        ([("retention.ms", SET, "1"), ("retention.ms", SET, "2")], 42, "retention.ms"),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], 42, "retention.ms"),
        ([("retention.ms", SET, None)], 42, "null"),
        ([("retention.ms", 7, "1")], 42, "7"),
    ],
)
async def test_a_wrong_change_is_refused_and_nothing_of_it_is_done(
    wire: Wire, changes: Sequence[Change], error_code: int, told: str
) -> None:
    await change(wire, ("retention.ms", SET, "77"))

    result = await change(wire, ("segment.bytes", SET, "2000000"), *changes)

    assert result.error_code == error_code
    assert told in (result.error_message or "")
    assert await value(wire, "retention.ms") == ("77", OF_THE_TOPIC)
    assert await value(wire, "segment.bytes") == ("1073741824", DEFAULT)


@pytest.mark.parametrize(
    ("kind", "name", "error_code"),
    [(TOPIC, "nope", 3), (TOPIC, "bad name", 17), (BROKER, "0", 42), (99, "t", 42)],
)
async def test_only_topics_that_exist_are_altered(
    wire: Wire, kind: int, name: str, error_code: int
) -> None:
    result = await change(wire, ("num.partitions", SET, "5"), kind=kind, name=name)

    assert result.error_code == error_code
    assert result.error_message


async def test_a_change_may_be_tried_without_doing_it(wire: Wire) -> None:
    right = await change(wire, ("retention.ms", SET, "5"), validate_only=True)
    wrong = await change(wire, ("retention.ms", SET, "x"), validate_only=True)

    assert (right.error_code, wrong.error_code) == (0, 40)
    assert await value(wire, "retention.ms") == ("604800000", DEFAULT)


@pytest.mark.parametrize("version", range(3))
async def test_alter_configs_replaces_all_settings(wire: Wire, version: int) -> None:
    await change(wire, ("retention.ms", SET, "5"))

    assert await alter(wire, ("t", [("segment.bytes", "2000000")]), version=version) == [0]

    assert await value(wire, "retention.ms") == ("604800000", DEFAULT)
    assert await value(wire, "segment.bytes") == ("2000000", OF_THE_TOPIC)


@pytest.mark.parametrize(
    ("resources", "error_codes"),
    [
        ([("t", [("nope", "1")])], [40]),
        ([("t", [("retention.ms", None)])], [42]),
        ([("t", [("retention.ms", "1"), ("retention.ms", "2")])], [42]),
        ([("t", [("retention.ms", "1")]), ("t", [])], [42, 42]),
        ([("nope", [])], [3]),
    ],
)
async def test_a_wrong_replacement_leaves_the_settings_as_they_were(
    wire: Wire,
    resources: Sequence[tuple[str, Sequence[tuple[str, str | None]]]],
    error_codes: list[int],
) -> None:
    await change(wire, ("retention.ms", SET, "77"))

    assert await alter(wire, *resources) == error_codes

    assert await value(wire, "retention.ms") == ("77", OF_THE_TOPIC)


async def test_a_replacement_may_be_tried_without_doing_it(wire: Wire) -> None:
    assert await alter(wire, ("t", [("retention.ms", "5")]), validate_only=True) == [0]

    assert await value(wire, "retention.ms") == ("604800000", DEFAULT)
