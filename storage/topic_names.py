"""What a topic may be called (Kafka's Topic.java)."""

import re

from minibroker.protocol.types import TopicId

MAX_NAME_LENGTH = 249
"""A partition's directory is the name and its number, and a file name has at most 255 bytes."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def name_problem(name: str) -> str | None:
    """Why this cannot be a topic's name, or None."""
    if not name:
        return "a topic name may not be empty"
    if name in (".", ".."):
        return f"a topic may not be called {name!r}"
    if len(name) > MAX_NAME_LENGTH:
        return f"a topic name has at most {MAX_NAME_LENGTH} characters, got {len(name)}"
    if not _LEGAL.fullmatch(name):
        return f"a topic name has only letters, digits, '.', '_' and '-', got {name!r}"
    return None


def collision_key(name: str) -> str:
    """Equal for names that collide in metric names, where '.' becomes '_'."""
    return name.replace(".", "_")


def topic_id_text(topic_id: TopicId) -> str:
    """The id as Kafka's tools print it: URL-safe base64 without padding."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()
