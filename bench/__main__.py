"""python -m bench [WORDS...]: goal, figure, verdict of each row whose name has one of the words."""

import sys

from .rows import ROWS, Row


def main() -> None:
    """Measure and print."""
    words = sys.argv[1:]
    print(f"{'row':45} {'goal':>8} {'figure':>9}  unit              verdict")
    for row in ROWS:
        if words and not any(word in row.name for word in words):
            continue
        figure = row.measure()
        print(
            f"{row.name:45} {_bound(row):>8} {figure:9.2f}  {row.unit:17} {_verdict(row, figure)}"
        )


def _bound(row: Row) -> str:
    return "" if row.goal is None else f"{row.goal:g}"


def _verdict(row: Row, figure: float) -> str:
    if row.goal is None:
        return "peer"
    return "met" if figure <= row.goal else f"missed by {figure / row.goal - 1:.0%}"


if __name__ == "__main__":
    main()
