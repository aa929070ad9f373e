"""Things worth one line in the log, not one each time."""

MAX_REMEMBERED = 1000


class Once:
    """What was said already, as far as it is remembered."""

    def __init__(self, max_remembered: int = MAX_REMEMBERED) -> None:
        self._max_remembered = max_remembered
        self._said: dict[str, None] = {}

    def is_new(self, line: str) -> bool:
        """Whether the line has not been said; it counts as said from now on."""
        if line in self._said:
            return False
        self._said[line] = None
        if len(self._said) > self._max_remembered:
            del self._said[next(iter(self._said))]
        return True
