"""What the containers run, as plain processes: no Docker engine is needed for that."""

import json
import re
import sys

from .processes import ROOT, free_ports, run, serving

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = (ROOT / "docker-compose.yml").read_text()


def test_the_three_containers_talk() -> None:
    arguments = re.search(r"^CMD (\[.*?\])", DOCKERFILE, re.DOTALL | re.MULTILINE)
    assert arguments
    command = json.loads(arguments[1].replace("\\\n", ""))
    host, docker = free_ports(2)
    # Other ports, since 9092 may be taken; and "broker" is a name in a compose network only.
    settings = [
        word.replace("29092", docker).replace("9092", host).replace("broker:", "127.0.0.1:")
        for word in command[1:]
    ]

    with serving(*settings) as (_, ready):
        run([sys.executable, "-m", "minibroker", "ready", "--bootstrap", f"localhost:{host}"])
        for example in re.findall(r"python /(examples/\w+\.py) broker:29092", COMPOSE):
            done = run([sys.executable, str(ROOT / example), f"127.0.0.1:{docker}"])
            assert len(done.stdout.splitlines()) == 10

    assert f"ready on localhost:{host}" in ready


def test_both_listeners_are_published_and_the_broker_is_checked_by_ready() -> None:
    assert '- "9092:9092"' in COMPOSE
    assert "EXPOSE 9092 29092" in DOCKERFILE
    assert '["CMD", "minibroker", "ready", "--bootstrap", "localhost:9092"]' in COMPOSE
    assert len(re.findall(r"python /examples/\w+\.py broker:29092", COMPOSE)) == 2
