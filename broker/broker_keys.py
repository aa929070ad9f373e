"""The table of broker keys: those that do something here, or that clients ask for.

Kafka's names and types; defaults are Kafka's unless the row says otherwise. The keys that supply
the defaults of topic settings are derived from the table of those (storage/topic_settings.py).
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from minibroker.storage.settings import LARGEST_INT, Setting, SettingType
from minibroker.storage.topic_settings import TOPIC_SETTINGS

BOOLEAN, STRING, INT = SettingType.BOOLEAN, SettingType.STRING, SettingType.INT
LONG, LIST = SettingType.LONG, SettingType.LIST

# Below 10 minutes a producer's retry could come after its state has expired, and be written twice.
_SHORTEST_EXPIRATION_MS = 600_000
_SMALLEST_MEMORY_BYTES = 1 << 20

# fmt: off
_ROWS = (
    Setting("node.id", INT, "0", "The id of this broker.", low=0, has_effect=True),
    Setting("broker.id", INT, "-1", "The older name of node.id, used where that is not set.",
        low=-1, has_effect=True),
    Setting("broker.rack", STRING, None, "The rack that clients are told for this broker.",
        has_effect=True),
    Setting("listeners", LIST, "PLAINTEXT://localhost:9092",
        "Where the broker listens: NAME://HOST:PORT, several with commas.", has_effect=True),
    Setting("advertised.listeners", LIST, None,
        "For each listener, the address that its clients are told.", has_effect=True),
    Setting("listener.security.protocol.map", STRING, "PLAINTEXT:PLAINTEXT",
        "The protocol that each listener speaks; only PLAINTEXT is served.", has_effect=True),
    Setting("controller.listener.names", LIST, "",
        "Listeners of the controller, which are left out: there is no controller here.",
        has_effect=True),
    Setting("auto.create.topics.enable", BOOLEAN, "true",
        "Whether asking for a topic that does not exist creates it.", has_effect=True),
    Setting("num.partitions", INT, "1", "How many partitions a topic gets if nothing is said.",
        low=1, has_effect=True),
    Setting("default.replication.factor", INT, "1",
        "The replication factor of a topic if nothing is said.", low=1, has_effect=True),
    Setting("minibroker.max.replication.factor", INT, "1",
        "The largest replication factor that may be asked for; there is one replica all the same.",
        low=1, high=32767, has_effect=True),
    Setting("delete.topic.enable", BOOLEAN, "true", "Whether topics may be deleted.",
        has_effect=True),
    Setting("max.connections", INT, "10000",
        "How many connections are open at most; Kafka has no limit.", low=0, has_effect=True),
    Setting("connections.max.idle.ms", LONG, "600000",
        "How long a connection may be open without any traffic; negative: for ever.",
        has_effect=True),
    Setting("queued.max.request.bytes", LONG, str(256 << 20),
        "How many bytes of requests all connections together may have in work; then reading "
        "pauses. Kafka has no limit.",
        low=1, has_effect=True),
    Setting("socket.request.max.bytes", INT, str(100 << 20), "The largest request.",
        low=1, has_effect=True),
    Setting("fetch.max.bytes", INT, "57671680", "The largest answer to one fetch request.",
        low=1024, has_effect=True),
    Setting("memory.limit", LONG, None,
        "How many bytes the log in memory may take; then the oldest records go. A quarter of the "
        "machine's memory, at most 2 GiB, if nothing is said.",
        low=_SMALLEST_MEMORY_BYTES, has_effect=True),
    Setting("producer.id.expiration.ms", INT, "86400000",
        "How long a partition remembers an idempotent producer that writes nothing.",
        low=_SHORTEST_EXPIRATION_MS, has_effect=True),
    Setting("max.producers.per.partition", INT, "100000",
        "How many idempotent producers a partition remembers; above that, idle ones are forgotten.",
        low=1, has_effect=True),
    Setting("producer.gap.timeout.ms", LONG, "300000",
        "How long a producer whose first batches never came is held back.",
        low=0, has_effect=True),
    Setting("max.incremental.fetch.session.cache.slots", INT, "1000",
        "How many incremental fetch sessions are kept.", low=0),
    Setting("group.initial.rebalance.delay.ms", INT, "0",
        "How long the first rebalance of a group waits for more members. 3000 in Kafka.", low=0),
    Setting("group.min.session.timeout.ms", INT, "6000",
        "The shortest session timeout that a group member may have.", low=0),
    Setting("group.max.session.timeout.ms", INT, "1800000",
        "The longest session timeout that a group member may have.", low=0),
    Setting("group.max.size", INT, str(LARGEST_INT), "How many members a group may have.", low=1),
    Setting("offset.metadata.max.bytes", INT, "4096",
        "The largest note beside a committed offset.", low=0),
    Setting("offsets.retention.minutes", INT, "10080",
        "How long the offsets of a group without members are kept.", low=1),
)
# fmt: on

_PERIOD_DEFAULTS = {"log.retention.hours": "168", "log.roll.hours": "168"}


def _topic_defaults() -> Iterator[Setting]:
    for topic_setting in TOPIC_SETTINGS.values():
        for key in topic_setting.broker_keys:
            is_period = key.endswith((".hours", ".minutes"))
            is_only_one = len(topic_setting.broker_keys) == 1
            yield Setting(
                name=key,
                type=INT if is_period else topic_setting.type,
                default=topic_setting.default if is_only_one else _PERIOD_DEFAULTS.get(key),
                summary=f"The default of the topic setting {topic_setting.name}.",
                low=topic_setting.low,
                high=topic_setting.high,
                exception=topic_setting.exception,
                choices=topic_setting.choices,
                pattern=topic_setting.pattern,
                has_effect=topic_setting.has_effect,
            )


TOPIC_DEFAULTS: Mapping[str, Setting] = MappingProxyType(
    {setting.name: setting for setting in _topic_defaults()}
)
BROKER_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {setting.name: setting for setting in (*_ROWS, *TOPIC_DEFAULTS.values())}
)
