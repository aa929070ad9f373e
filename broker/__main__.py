"""`python -m minibroker`, and the `minibroker` command."""

from .cli import main

if __name__ == "__main__":
    main()
