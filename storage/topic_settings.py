"""The table of topic settings.

A row for each topic setting of Kafka 4.4, with Kafka's type, default, bounds and broker keys (as
its own DescribeConfigs answers them), and our two: record.validation and require.idempotence.
"""

from collections.abc import Mapping
from types import MappingProxyType

from .settings import LARGEST_LONG, Setting, SettingType

BOOLEAN, STRING, INT = SettingType.BOOLEAN, SettingType.STRING, SettingType.INT
LONG, DOUBLE, LIST = SettingType.LONG, SettingType.DOUBLE, SettingType.LIST

_NEVER = str(LARGEST_LONG)
_REPLICAS = (
    r"(\*|\d+:\d+(,\d+:\d+)*)?",
    "must be the literal '*' or a list of replicas: [partition]:[broker],[partition]:[broker],...",
)

# fmt: off
_ROWS = (
    Setting("cleanup.policy", LIST, "delete",
        "What happens to old records: delete drops whole segments by age and size, compact keeps "
        "the last record of each key (and refuses records without one); both may be given, or "
        "none.",
        choices=("compact", "delete"), broker_keys=("log.cleanup.policy",), has_effect=True),
    Setting("compression.type", STRING, "producer",
        "The codec in which batches are kept; producer keeps each one as its producer sent it.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        broker_keys=("compression.type",), has_effect=True),
    Setting("compression.gzip.level", INT, "-1",
        "The level at which batches are compressed anew when compression.type is gzip; -1 is the "
        "codec's own default.",
        low=1, high=9, exception=-1, broker_keys=("compression.gzip.level",), has_effect=True),
    Setting("compression.lz4.level", INT, "9",
        "The level at which batches are compressed anew when compression.type is lz4.",
        low=1, high=17, broker_keys=("compression.lz4.level",), has_effect=True),
    Setting("compression.zstd.level", INT, "3",
        "The level at which batches are compressed anew when compression.type is zstd.",
        low=-131072, high=22, broker_keys=("compression.zstd.level",), has_effect=True),
    Setting("delete.retention.ms", LONG, "86400000",
        "How long a compacted topic keeps the tombstone of a deleted key.",
        low=0, broker_keys=("log.cleaner.delete.retention.ms",)),
    Setting("errors.deadletterqueue.group.enable", BOOLEAN, "false",
        "Whether share groups may put records here that they could not deliver."),
    Setting("file.delete.delay.ms", LONG, "60000",
        "How long the files of a deleted segment stay on the disk.",
        low=0, broker_keys=("log.segment.delete.delay.ms",)),
    Setting("flush.messages", LONG, _NEVER,
        "After how many records the log is forced to the disk.",
        low=1, broker_keys=("log.flush.interval.messages",)),
    Setting("flush.ms", LONG, _NEVER,
        "After how many milliseconds the log is forced to the disk.",
        low=0, broker_keys=("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
    Setting("follower.replication.throttled.replicas", LIST, "",
        "The replicas whose copying is throttled on the side that follows.", pattern=_REPLICAS),
    Setting("index.interval.bytes", INT, "4096",
        "How many bytes of log there are at least between two entries of its offset index.",
        low=0, broker_keys=("log.index.interval.bytes",)),
    Setting("leader.replication.throttled.replicas", LIST, "",
        "The replicas whose copying is throttled on the side that leads.", pattern=_REPLICAS),
    Setting("local.retention.bytes", LONG, "-2",
        "How many bytes a partition with tiered storage keeps on the local disk; -2 means "
        "retention.bytes.",
        low=-2, broker_keys=("log.local.retention.bytes",)),
    Setting("local.retention.ms", LONG, "-2",
        "How long a segment with tiered storage stays on the local disk; -2 means retention.ms.",
        low=-2, broker_keys=("log.local.retention.ms",)),
    Setting("max.compaction.lag.ms", LONG, _NEVER,
        "How long a record of a compacted topic may stay without being compacted.",
        low=1, broker_keys=("log.cleaner.max.compaction.lag.ms",)),
    Setting("max.decompressed.message.bytes", INT, "2147483639",
        "The largest size of one record after decompression, wherever the broker decompresses.",
        low=1, high=2147483639, broker_keys=("max.decompressed.message.bytes",)),
    Setting("max.message.bytes", INT, "1048588",
        "The largest batch, as it stands in the log (compressed, with its header), that a "
        "producer may send.",
        low=0, broker_keys=("message.max.bytes",), has_effect=True),
    Setting("message.timestamp.after.max.ms", LONG, "3600000",
        "How far a record's timestamp may be ahead of the broker's clock (CreateTime only).",
        low=0, broker_keys=("log.message.timestamp.after.max.ms",), has_effect=True),
    Setting("message.timestamp.before.max.ms", LONG, _NEVER,
        "How far a record's timestamp may be behind the broker's clock (CreateTime only).",
        low=0, broker_keys=("log.message.timestamp.before.max.ms",), has_effect=True),
    Setting("message.timestamp.type", STRING, "CreateTime",
        "Whether records keep the time that their producer gave them or get the broker's time "
        "when appended.",
        choices=("CreateTime", "LogAppendTime"),
        broker_keys=("log.message.timestamp.type",), has_effect=True),
    Setting("min.cleanable.dirty.ratio", DOUBLE, "0.5",
        "The share of a log that must be uncompacted before compaction is worth its cost.",
        low=0, high=1, broker_keys=("log.cleaner.min.cleanable.ratio",)),
    Setting("min.compaction.lag.ms", LONG, "0",
        "How long a record is safe from compaction.",
        low=0, broker_keys=("log.cleaner.min.compaction.lag.ms",)),
    Setting("min.insync.replicas", INT, "1",
        "How many replicas must have a batch for acks=all; a single node always has one.",
        low=1, broker_keys=("min.insync.replicas",)),
    Setting("preallocate", BOOLEAN, "false",
        "Whether the file of a new segment gets its full size at once.",
        broker_keys=("log.preallocate",)),
    Setting("record.validation", STRING, "header",
        "How much of a batch is checked on the way in: header (its header and checksum) or full "
        "(each record too).",
        choices=("header", "full"), broker_keys=("record.validation",), has_effect=True),
    Setting("remote.copy.lag.bytes", LONG, "-1",
        "How much newer log there must be before a segment is copied to tiered storage.",
        low=-1, broker_keys=("log.remote.copy.lag.bytes",)),
    Setting("remote.copy.lag.ms", LONG, "0",
        "How old a segment must be before it is copied to tiered storage.",
        low=-1, broker_keys=("log.remote.copy.lag.ms",)),
    Setting("remote.log.copy.disable", BOOLEAN, "false",
        "Whether tiered storage takes no more segments of this topic."),
    Setting("remote.log.delete.on.disable", BOOLEAN, "false",
        "Whether the tiered segments go when tiered storage is turned off."),
    Setting("remote.storage.enable", BOOLEAN, "false",
        "Whether segments go to tiered storage; this broker has none and takes only false."),
    Setting("require.idempotence", BOOLEAN, "false",
        "Whether batches of producers without idempotence are refused.",
        broker_keys=("require.idempotence",)),
    Setting("retention.bytes", LONG, "-1",
        "How large a partition may grow before its oldest segments are deleted; -1 is no limit.",
        broker_keys=("log.retention.bytes",)),
    Setting("retention.ms", LONG, "604800000",
        "How long records are kept before their segment is deleted; -1 is for ever.",
        low=-1, broker_keys=("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
    Setting("segment.bytes", INT, "1073741824",
        "How large a segment file may grow before a new one is begun.",
        low=1048576, broker_keys=("log.segment.bytes",)),
    Setting("segment.index.bytes", INT, "10485760",
        "How large the index of a segment may grow.", low=4,
        broker_keys=("log.index.size.max.bytes",)),
    Setting("segment.jitter.ms", LONG, "0",
        "By how much, at random, segment.ms is shortened so that not all logs roll at once.",
        low=0, broker_keys=("log.roll.jitter.ms", "log.roll.jitter.hours")),
    Setting("segment.ms", LONG, "604800000",
        "How old a segment may become before a new one is begun, full or not.",
        low=1, broker_keys=("log.roll.ms", "log.roll.hours")),
    Setting("unclean.leader.election.enable", BOOLEAN, "false",
        "Whether a replica that lacks records may become leader.",
        broker_keys=("unclean.leader.election.enable",)),
)
# fmt: on

TOPIC_SETTINGS: Mapping[str, Setting] = MappingProxyType({row.name: row for row in _ROWS})
