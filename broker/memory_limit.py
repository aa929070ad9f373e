"""Sizes in bytes, and how much memory the log may take if nobody says."""

import os

_UNITS = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_LARGEST_DEFAULT_BYTES = 2 << 30
_CGROUP_LIMIT = "/sys/fs/cgroup/memory.max"


def bytes_of(text: str) -> int | None:
    """A size such as 1048576, 512MiB or 2 GiB, or None if it is malformed."""
    word = text.strip().lower()
    digits = word.rstrip("kmgib ")
    unit = word[len(digits) :].strip()
    if not (digits.isascii() and digits.isdigit()) or unit not in _UNITS or len(digits) > 19:
        return None
    return int(digits) * _UNITS[unit]


def default_memory_limit() -> int:
    """A quarter of the machine's memory, or of the container's, at most 2 GiB."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(min(machine, _container_limit() or machine) // 4, _LARGEST_DEFAULT_BYTES)


def _container_limit() -> int | None:
    try:
        with open(_CGROUP_LIMIT) as file:
            return bytes_of(file.read())
    except OSError:
        # No Linux, or no container: the machine's memory decides.
        return None
