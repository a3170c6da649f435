"""``evenkeel switch-over`` between a plain HAProxy as the amphora and ours, with a client's traffic: over, back, over,
and the end in Octavia; and by itself back when ours do not serve.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.cli.main import main
from evenkeel.demo.cluster import Cluster
from tests import log_handlers
from tests.acceptance.switching.cloud import LB, VIP_PORT, Cloud
from tests.acceptance.switching.segment import CIDR, VIP, Segment, obstacle
from tests.cli.stub import served
from tests.waiting import eventually

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "there can be a segment"),
]

ENVIRONMENT = "moved"
Run = Callable[..., Any]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    made = Cluster(tmp_path, environment=ENVIRONMENT, device="haproxy")
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(made.start_agent("host-1"), made.start_backend(1))
        yield made
    finally:
        await asyncio.to_thread(made.close)


@pytest.fixture
async def segment(tmp_path: Path) -> AsyncIterator[Segment]:
    made = Segment(tmp_path)
    try:
        await asyncio.to_thread(made.start)
        yield made
    finally:
        await asyncio.to_thread(made.close)


@pytest.fixture
async def cloud(cluster: Cluster, segment: Segment) -> AsyncIterator[Cloud]:
    made = await asyncio.to_thread(
        cluster.client().post, f"{API_PATH}/subnets", {"subnet": {"name": "v", "cidr": CIDR}}
    )
    with served(Cloud(segment, made["subnet"]["id"], cluster.backend_ports[0])) as running:
        yield running


@pytest.fixture
def run(cluster: Cluster, cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command of moving; its answer as JSON, or its exit code with what it says if that is not expected."""

    async def ran(*words: str, code: int = 0) -> Any:
        line = ["--endpoint", cluster.url(1), *words, "--source-url", cloud.url, "--json"]
        found = await asyncio.to_thread(main, line)
        out, err = capsys.readouterr()
        log_handlers.remove()
        assert found == code, f"{found}: {out}{err}"
        return json.loads(out)["loadbalancers"][0]

    return ran


async def imported(run: Run, cluster: Cluster) -> None:
    """The load balancer is held, and the devices have confirmed that."""
    await run("import", "octavia", "--environment", ENVIRONMENT, "--yes")

    async def is_held() -> bool:
        told = (await cluster.get_json(f"/loadbalancers/{LB}/agent"))["hosting"]
        return bool(told["held"] and told["provisioning_status"] == "ACTIVE")

    await eventually(is_held)


async def test_clients_are_served_by_our_devices_then_the_amphora_then_our_devices_again(
    run: Run, cluster: Cluster, cloud: Cloud, segment: Segment
) -> None:
    await imported(run, cluster)
    switch = ("switch-over", LB, "--neutron-url", cloud.url, "--hook", str(segment.hook()))
    planned = await run(*switch)
    assert planned["outcome"] == "planned" and VIP in cloud.pairs
    cloud.name = "renamed"  # the source's latest state counts
    for words, outcome, before, after in (
        ((), "switched", "amphora", "backend-1"),
        (("--back",), "back", "backend-1", "amphora"),
        ((), "switched", "amphora", "backend-1"),
    ):
        client = segment.start_client()
        done = await run(*switch, *words, "--yes")
        seen = await asyncio.to_thread(segment.client_saw, client)
        assert done["outcome"] == outcome, done
        assert done["gap"]["attempts"] > done["gap"]["failed"]
        assert set(seen["answers"]) <= {before, after} and after in seen["answers"]
        assert len(seen["failed"]) <= 1, seen
        assert (VIP in cloud.pairs) == (outcome == "back")
    shown = await asyncio.to_thread(cluster.client().get, f"/v2.0/lbaas/loadbalancers/{LB}")
    assert shown["loadbalancer"]["name"] == "renamed"
    # repeated: nothing is left to do
    assert (await run(*switch, "--yes"))["outcome"] == "switched"
    assert (await run(*switch, "--finish", "--yes"))["outcome"] == "finished"
    assert cloud.is_deleted and cloud.ports[VIP_PORT]["device_owner"] == "Octavia"
    assert (await run(*switch, "--finish", "--yes"))["outcome"] == "finished"


async def test_switch_over_is_reversed_if_our_devices_do_not_serve(
    run: Run, cluster: Cluster, cloud: Cloud, segment: Segment
) -> None:
    await imported(run, cluster)
    # without the hook nobody announces the address of a HAProxy host
    switch = ("switch-over", LB, "--neutron-url", cloud.url, "--timeout", "3", "--yes")
    client = segment.start_client()
    failed = await run(*switch, code=1)
    seen = await asyncio.to_thread(segment.client_saw, client)
    assert failed["outcome"] == "failed" and "it went back to the amphora" in failed["text"], failed
    assert set(seen["answers"]) == {"amphora"}
    assert VIP in cloud.pairs
    told = (await cluster.get_json(f"/loadbalancers/{LB}/agent"))["hosting"]
    assert told["held"] and told["provisioning_status"] == "ACTIVE"


async def test_nothing_is_changed_if_the_vip_does_not_answer_before(
    run: Run, cluster: Cluster, cloud: Cloud, segment: Segment
) -> None:
    await imported(run, cluster)
    segment.silence_amphora()
    failed = await run("switch-over", LB, "--neutron-url", cloud.url, "--yes", code=1)
    assert "does not answer from here before the switch-over" in failed["text"]
    assert VIP in cloud.pairs
