"""Runs the cases from public bug reports against a broker process.

    python -m tests.cases [CASES.PY]

The cases live beside the repository (../shared/cases). All of them run but those that need what is
not served yet.
"""

import subprocess
import sys
from pathlib import Path

from minibroker.embedded import running_in_process

CASES = Path(__file__).parent.parent.parent / "shared" / "cases" / "cases.py"
LATER_CATEGORIES = {
    "groups": "consumer groups",
    "restart": "segment files",
}
LATER = {
    "log-dirs-for-tools": "DescribeLogDirs",
    "recreated-topic-forgets-offsets": "committed offsets",
    "api-versions": "JoinGroup",
    "looking-does-not-create": "OffsetCommit",
}


def main() -> int:
    """The exit code of the cases."""
    script = sys.argv[1] if len(sys.argv) > 1 else str(CASES)
    listing = subprocess.run(
        [sys.executable, script, "--list"], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split(maxsplit=2)[:2] for line in listing.splitlines()]
    chosen = [
        name for name, category in rows if name not in LATER and category not in LATER_CATEGORIES
    ]
    left_out = [name for name, _ in rows if name not in chosen]
    print(f"left out until they can be served: {', '.join(left_out)}", flush=True)
    with running_in_process() as broker:
        command = [sys.executable, script, "--bootstrap", broker.bootstrap]
        return subprocess.run([*command, "--only", ",".join(chosen)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
