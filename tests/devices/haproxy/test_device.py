"""A batch that a daemon refuses as a whole costs only those load balancers that are to blame."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import structlog
from aiohttp import web
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.ports import Device
from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.device import describe_limitations
from evenkeel.haproxyd import wire
from tests.devices.haproxy.fake import FakeDaemon, about, fake_daemon, json, refusal
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.services import batch, gone, listener, service, session_of

BAD = listener(connection_limit=0)


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[FakeDaemon]:
    async with fake_daemon(tmp_path) as running:
        yield running


@pytest.fixture
async def group(daemon: FakeDaemon) -> AsyncIterator[Device]:
    options = {
        "haproxyd_url": f"https://{daemon.host}",
        "haproxyd_username": "agent",
        "haproxyd_password": "s3cret",
        "ca_file": str(daemon.ca_file),
        "connect_timeout": "60",
    }
    opened = open_group(options, environment="dev", group_number=1, host="host-1")
    yield opened
    await opened.close()


def refusing(daemon: FakeDaemon, *bad: str) -> None:
    """A daemon that refuses every request that names one of these, and holds nothing."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return await (refusal("not_found", 404) if "partitions" in request.path else about)(request)
        change = msgspec.json.decode(daemon.asked[-1][2], type=wire.PartitionChange)
        named = [*(one.id for one in change.load_balancers), *change.removed]
        if any(one in bad for one in named):
            return await refusal("invalid", 400, reason=f"one of {len(named)} is bad")(request)
        outcomes = tuple(wire.LoadBalancerOutcome(load_balancer_id=one, revision=1) for one in named)
        return await json(wire.Receipt(outcomes=outcomes, how="runtime"))(request)

    daemon.answer = answer


def errors(outcome: PartitionOutcome) -> dict[str, str]:
    return {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}


@pytest.mark.parametrize("complete", [False, True])
async def test_the_others_are_applied(daemon: FakeDaemon, group: Device, complete: bool) -> None:
    refusing(daemon, "lb-3", "lb-6")
    outcome = await group.apply(batch(*(service(number) for number in range(1, 8)), complete=complete))
    assert errors(outcome) == {"lb-3": "one of 1 is bad", "lb-6": "one of 1 is bad"}
    assert outcome.writes == 1 and len(outcome.outcomes) == 7
    if complete:
        method, _, body = daemon.asked[-1]
        named = {one.id for one in msgspec.json.decode(body, type=wire.PartitionChange).load_balancers}
        assert method == "PUT" and named == {f"lb-{number}" for number in (1, 2, 4, 5, 7)}


@pytest.mark.parametrize("complete", [False, True])
async def test_a_partition_in_trouble_states_why_and_leaves_the_device_trusted(
    daemon: FakeDaemon, group: Device, complete: bool
) -> None:
    failed = refusal("failed", 500, reason="partition dev_p: No space left on device")

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return await about(request)
        named = msgspec.json.decode(daemon.asked[-1][2], type=wire.PartitionChange).load_balancers
        return await (failed(request) if named else json(wire.GuardState(epoch=1))(request))

    daemon.answer = answer
    with structlog.testing.capture_logs() as logs, pytest.raises(DeviceUnavailable, match="No space left on device"):
        await group.apply(batch(service(), service(2), complete=complete))
    assert [method for method, _, _ in daemon.asked] == ["PUT" if complete else "PATCH"]  # halves fare no better
    await group.take_over("another", 1, session_of(1))
    assert daemon.asked[-2][0] != "GET"  # nobody asks first whether the device is there
    assert "out of reach" not in str(logs)


@pytest.mark.parametrize("empty", [True, False])
async def test_an_empty_partition_is_not_read_until_something_was_written(
    daemon: FakeDaemon, group: Device, empty: bool
) -> None:
    refusing(daemon)
    others = daemon.answer

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/guard"):
            return await json(wire.GuardState(epoch=1, state_id="run", empty=empty))(request)
        return await others(request)

    daemon.answer = answer
    first = replace(batch(service(), complete=True), keeps_orphans=True)
    await group.take_over(first.project_id, 1, session_of(1))
    await group.apply(first)
    assert [method for method, _, _ in daemon.asked] == (["POST", "PUT"] if empty else ["POST", "GET", "PUT"])
    await group.apply(first)
    assert [method for method, _, _ in daemon.asked[-2:]] == ["GET", "PUT"]


async def test_removals_of_a_refused_batch_are_tried_one_by_one(daemon: FakeDaemon, group: Device) -> None:
    refusing(daemon, "lb-2")
    outcome = await group.apply(batch(service(), gone(2), gone(3)))
    assert list(errors(outcome)) == ["lb-2"]


async def test_a_daemon_that_refuses_everything_ends(daemon: FakeDaemon, group: Device) -> None:
    daemon.answer = refusal("too_large", 413)
    outcome = await group.apply(batch(service(), service(2), complete=False))
    assert list(errors(outcome)) == ["lb-1", "lb-2"] and outcome.writes == 0


async def test_a_partition_too_large_for_one_request_is_put_there_in_pieces_and_its_orphans_go(
    daemon: FakeDaemon, group: Device
) -> None:
    services = [service(number) for number in range(1, 8)]
    refusing(daemon)
    await group.apply(batch(services[0]))
    most = 2 * len(daemon.asked[-1][2])
    held = {"lb-1", "lb-8", "lb-9"}

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            status = wire.PartitionStatus(name="dev_a3f1c2", load_balancer_ids=tuple(sorted(held)))
            seen = wire.DaemonObservation(event=0, partitions=(status,))
            return await (json(seen) if request.path.endswith("observation") else about)(request)
        body = daemon.asked[-1][2]
        if len(body) > most:
            return await refusal("too_large", 413)(request)
        change = msgspec.json.decode(body, type=wire.PartitionChange)
        names = {one.id for one in change.load_balancers}
        held.difference_update(change.removed)
        held.update(names)
        outcomes = tuple(wire.LoadBalancerOutcome(load_balancer_id=one, revision=1) for one in names)
        return await json(wire.Receipt(outcomes=outcomes, how="runtime"))(request)

    daemon.answer = answer
    outcome = await group.apply(batch(*services, complete=True))
    assert not errors(outcome) and outcome.writes == 1
    assert held == {f"lb-{number}" for number in range(1, 8)}


async def test_load_balancer_that_cannot_be_rendered_is_not_sent_and_its_reason_reported(
    daemon: FakeDaemon, group: Device
) -> None:
    refusing(daemon)
    outcome = await group.apply(batch(service(listeners=(BAD,)), service(2)))
    assert list(errors(outcome)) == ["lb-1"] and "connection_limit 0" in errors(outcome)["lb-1"]
    assert b"lb-1" not in daemon.asked[-1][2]


async def test_load_balancer_that_cannot_be_rendered_stays_unchanged_in_a_complete_batch(rig: HaproxyRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), service(2), service(7), complete=True))
    before = await rig.content()
    outcome = await agent.apply(batch(service(revision=2, listeners=(BAD,)), service(2), complete=True))
    assert list(errors(outcome)) == ["lb-1"]
    after = await rig.content()
    assert after == {name: one for name, one in before.items() if not re.search("(lb|listener|pool)-7", name)}
    assert not errors(await agent.apply(batch(service(revision=3), service(2), complete=True)))


def test_services_that_a_host_refuses_are_a_limitation_and_no_problem() -> None:
    able = wire.About(name="one", daemon_version="1", haproxy_version="2.6.12")
    assert describe_limitations(able) == ""
    assert describe_limitations(replace(able, sctp="no such module")) == "SCTP is refused: no such module"
    unable = replace(able, datagrams="Operation not permitted", sctp="no such module")
    assert describe_limitations(unable) == "UDP and SCTP are refused: Operation not permitted"


async def test_one_observation_serves_statuses_capacity_and_tenants_until_a_change(
    daemon: FakeDaemon, group: Device
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/v1":
            return await about(request)
        if request.path == "/v1/observation":
            partition = wire.PartitionStatus(name="dev_p", load_balancer_ids=("lb",))
            return await json(wire.DaemonObservation(event=1, partitions=(partition,)))(request)
        return await json(wire.Receipt(outcomes=(), how="nothing"))(request)

    def observations() -> int:
        return sum(path.startswith("/v1/observation") for _, path, _ in daemon.asked)

    daemon.answer = answer
    await group.observe()
    assert await group.tenants() == {"p"}
    assert await group.capacity(["tenant_count"]) == {"tenant_count": 1.0}
    assert observations() == 1
    await group.apply(batch(service()))
    await group.tenants()
    assert observations() == 2
