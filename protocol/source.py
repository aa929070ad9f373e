"""Writing and compiling the straight-line Python of a codec."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct


class Source:
    """The lines of one function, the objects it refers to, and a run of values not yet moved.

    Consecutive values of fixed size are gathered in the run: one `struct.Struct` moves them all.
    """

    def __init__(self, names: dict[str, object]) -> None:
        self.names = dict(names)
        self.run: list[tuple[str, str]] = []
        self._lines: list[str] = []
        self._indent = 0
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._indent += 1
        yield
        self._indent -= 1

    def variable(self) -> str:
        """A name that is used nowhere else."""
        self._count += 1
        return f"v{self._count}"

    def constant(self, value: object) -> str:
        """A name for an object that the compiled function refers to."""
        self._count += 1
        self.names[f"k{self._count}"] = value
        return f"k{self._count}"

    def take_run(self) -> tuple[Struct, list[str]]:
        """The layout of the run and its expressions (a pad byte, x, has none); empties the run."""
        layout = Struct(">" + "".join(code for code, _ in self.run))
        expressions = [expression for code, expression in self.run if code != "x"]
        self.run = []
        return layout, expressions

    def compile(self, function: str, title: str) -> object:
        text = "\n".join(self._lines)
        exec(compile(text, f"<{title}>", "exec"), self.names)  # noqa: S102 - our own text
        return self.names[function]
