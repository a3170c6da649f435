"""The command against a real controller."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from evenkeel.demo.cluster import Cluster
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A controller of our own; its environment is ``demo``."""
    cluster = Cluster(tmp_path_factory.mktemp("controller"), start_seconds=240.0)
    try:
        yield asyncio.run(cluster.start_controller(1))
    finally:
        cluster.close()


def test_reads_and_changes_are_understood(evenkeel: Run, endpoint: str) -> None:
    def json_of(*words: str) -> object:
        ran = evenkeel(*words, "-f", "json", endpoint=endpoint)
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    assert json_of("agent", "list") == []
    assert [row["name"] for row in json_of("environment", "list")] == ["demo"]  # type: ignore[attr-defined]
    words = ("--failback", "manual", "--breaker-share", "0.25", "--breaker-agents", "5")
    for _ in range(2):
        json_of("environment", "create", "gold", "--device-driver", "bigip", *words)
    assert json_of("environment", "set", "gold", "--failback", "never")["failback"] == "never"  # type: ignore[index]
    assert json_of("environment", "resume", "gold")["halted"] == ""  # type: ignore[index]
    assert evenkeel("environment", "create", "gold", "--device-driver", "noop", endpoint=endpoint).code == 1
    assert evenkeel("environment", "delete", "gold", endpoint=endpoint).code == 0
    assert evenkeel("environment", "show", "gold", endpoint=endpoint).code == 1
    first = json_of("database", "show")["history_id"]  # type: ignore[index]
    second = json_of("database", "new-history")["history_id"]  # type: ignore[index]
    assert second not in ("", first) and json_of("database", "show")["history_id"] == second  # type: ignore[index]
    assert json_of("provider", "capabilities", "demo")["provider"] == "demo"  # type: ignore[index]
    json_of("subnet", "create", "web", "--cidr", "10.1.0.0/24", "--gateway-ip", "10.1.0.1")
    assert [row["allocation_start"] for row in json_of("subnet", "list")] == ["10.1.0.2"]  # type: ignore[attr-defined]
    assert evenkeel("subnet", "delete", "web", endpoint=endpoint).code == 0
    status = json_of("status")
    assert (status["agents_up"], status["shards_unserved"]) == (0, 0)  # type: ignore[index]
    assert "environment_added" in [row["kind"] for row in json_of("events")]  # type: ignore[attr-defined]


def test_refusals_carry_the_controllers_reason(evenkeel: Run, endpoint: str) -> None:
    ran = evenkeel("agent", "show", "4cdf1d5c-5d5b-4f0e-9a57-0e0b5a9d7c11", endpoint=endpoint)
    assert ran.code == 1
    assert "4cdf1d5c" in ran.err
    assert evenkeel("subnet", "create", "web", "--cidr", "nonsense", endpoint=endpoint).code == 1
