"""python -m bench [WORDS...]: goal, figure, verdict of each row whose name has one of the words."""

import sys

from .rows import ROWS


def main() -> None:
    """Measure and print."""
    words = sys.argv[1:]
    print(f"{'row':45} {'goal':>8} {'figure':>9}  unit              verdict")
    for row in ROWS:
        if words and not any(word in row.name for word in words):
            continue
        figure = row.measure()
        verdict = "met" if figure <= row.goal else f"missed by {figure / row.goal - 1:.0%}"
        print(f"{row.name:45} {row.goal:8g} {figure:9.2f}  {row.unit:17} {verdict}", flush=True)


if __name__ == "__main__":
    main()
