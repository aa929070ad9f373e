"""`python -m minibroker.child`: the command line, in a process that ends when its parent does.

The parent holds the other end of standard input. However it ends, kill -9 included, the system
closes that end, and the broker leaves as if by SIGTERM.
"""

import os
import signal
import threading

from .cli import main

_STDIN = 0


def _end_with_parent() -> None:
    while os.read(_STDIN, 1024):  # no deadline: it lasts as long as the parent
        continue
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    # os.read and no sys.stdin: a lock that a daemon thread holds would be fatal at the exit.
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    main()
