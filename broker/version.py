"""The version, as pyproject.toml has it (a test compares): importlib.metadata would cost 20 ms."""

VERSION = "0.1.0"
