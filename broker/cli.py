"""The command line: `minibroker serve` and `minibroker ready`.

A mistake is one line on stderr and exit code 2. What a command needs is imported when it runs.
"""

import errno
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .version import VERSION

if TYPE_CHECKING:
    from .config import Config

MISTAKE = 2
INTERRUPTED = 130


@click.group(no_args_is_help=False)
@click.version_option(VERSION, prog_name="minibroker", message="%(prog)s %(version)s")
def cli() -> None:
    """A Kafka broker in one pip install."""


@cli.command()
@click.option("--host", metavar="H", help="Where to listen. [localhost: both loopback addresses]")
@click.option("--port", metavar="P", help="The port; 0 is any free one. [9092]")
@click.option("--advertised", metavar="HOST:PORT", help="The address that clients are told.")
@click.option("--data", metavar="DIR", help="Not yet: the log is in memory.")
@click.option("--fsync", metavar="os|group|interval:MS", help="When an append is done. [group]")
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="How much memory the log may take, such as 512MiB. [a quarter of it, at most 2GiB]",
)
@click.option(
    "--topic",
    metavar="NAME[:PARTITIONS]",
    multiple=True,
    help="A topic to create; may be repeated.",
)
@click.option(
    "--set",
    "set_pairs",
    metavar="KEY=VALUE",
    multiple=True,
    help="A broker key of Kafka, such as num.partitions=3, or of ours; may be repeated.",
)
@click.option("--config", "config_file", metavar="FILE.toml", help="A file of such options.")
@click.option("--first-producer-id", metavar="N", help="For tests that want small ids.")
@click.option("--log-format", metavar="text|json", help="[text]")
@click.option("--log-level", metavar="L", help="debug, info, warning, error or critical. [info]")
def serve(
    set_pairs: Sequence[str], config_file: str | None, **flags: str | Sequence[str] | None
) -> int:
    """Run the broker until SIGTERM or SIGINT."""
    import os

    from . import logs
    from .config import ConfigError, load

    options = {name.replace("_", "-"): value for name, value in flags.items()}
    try:
        config, warnings = load(options, set_pairs, config_file, os.environ)
        logs.set_up(config.log_format, config.log_level)
        return _run(config, warnings)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


@cli.command()
@click.option("--bootstrap", metavar="HOST:PORT", default="localhost:9092", help="[localhost:9092]")
@click.option("--wait", "wait_s", metavar="S", type=float, default=0.0, help="For how long. [0]")
def ready(bootstrap: str, wait_s: float) -> int:
    """Exit with 0 when the broker answers, with 1 if it does not."""
    from .listeners import address
    from .ready import wait_until_ready

    place = address(bootstrap)
    if place is None:
        raise click.UsageError(f"--bootstrap {bootstrap}: expected HOST:PORT")
    problem = wait_until_ready(*place, wait_s)
    if problem is None:
        return 0
    click.echo(f"minibroker: {problem}", err=True)
    return 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, and leave the process."""
    try:
        exit_code = cli.main(arguments, prog_name="minibroker", standalone_mode=False)
    except click.Abort:
        exit_code = INTERRUPTED
    except click.ClickException as mistake:
        click.echo(f"minibroker: {_line_of(mistake)}", err=True)
        exit_code = MISTAKE
    sys.exit(exit_code)


def _line_of(mistake: click.ClickException) -> str:
    line = " ".join(mistake.format_message().split())
    return f"{line[:-1]}; see minibroker --help" if line == "Missing command." else line


def _run(config: "Config", warnings: Sequence[str]) -> int:
    from .serve import run

    try:
        return run(config, warnings)
    except OSError as error:
        problem = _cannot_listen(error, config)
        if problem is None:
            raise
        raise click.UsageError(problem) from error


def _cannot_listen(error: OSError, config: "Config") -> str | None:
    """The line for a port that cannot be opened, or None if the error is about something else."""
    place = " or ".join(f"port {one.port} on {one.host}" for one in config.listeners)
    if error.errno == errno.EADDRINUSE:
        return f"{place} is in use: stop the other program or choose another with --port"
    if error.errno == errno.EACCES:
        return f"{place} is not allowed to this user: choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{place}: this machine has no such address; choose another with --host"
    import socket

    if isinstance(error, socket.gaierror):
        return f"{place}: no such host; choose another with --host"
    return None
