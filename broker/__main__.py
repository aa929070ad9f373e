"""`python -m minibroker`, and the `minibroker` command."""

import gc

gc.disable()  # nothing that is imported is garbage; `serve` enables it once it listens

from .cli import main  # noqa: E402

if __name__ == "__main__":
    main()
