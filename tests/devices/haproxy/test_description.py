"""What would change on a daemon, from what it holds, what it runs, and what is wanted."""

from typing import Any

from msgspec.structs import replace

from evenkeel.devices.haproxy.description import describe_changes
from evenkeel.devices.haproxy.render.load_balancer import RenderedConfig, render_load_balancer
from evenkeel.haproxyd import wire
from tests.devices.services import gone, pool, service

NOTHING = wire.PartitionStatus(name="dev_p")


def operations(
    wanted: RenderedConfig, *held: wire.LoadBalancerConfig, running: wire.PartitionStatus = NOTHING, **given: Any
) -> list[tuple[str, str, str]]:
    plan = describe_changes("h", [wanted], held, running, **{"complete": False, **given})
    return [(step.verb, step.type, step.name) for step in plan.operations]


def config(of: RenderedConfig) -> wire.LoadBalancerConfig:
    assert of.load_balancer is not None
    return of.load_balancer


def test_each_part_that_differs_is_named() -> None:
    before, after = (
        render_load_balancer(service(members=2)),
        render_load_balancer(service(revision=2, pools=(pool(members=1),))),
    )
    assert operations(before, config(before)) == []
    assert ("create", "server", "pool-1/member-1-1") in operations(before)
    assert operations(after, config(before)) == [("delete", "server", "pool-1/member-1-2")]
    fewer = render_load_balancer(service(listeners=(), members=2))
    assert ("delete", "frontend", "listener-1") in operations(fewer, config(before))


def test_weights_set_at_the_socket_are_seen() -> None:
    wanted = render_load_balancer(service(members=1))
    server = wire.ServerStatus(name="member-1-1", up=True, checked=True, admin_up=False, weight=9)
    backend = wire.BackendStatus(name="pool-1", load_balancer_id="lb-1", servers=(server,))
    running = replace(NOTHING, backends=(backend,))
    (plan,) = describe_changes("h", [wanted], [config(wanted)], running, complete=False).operations
    assert [(one.name, one.present, one.wanted) for one in plan.attributes] == [
        ("admin_up", "false", "true"),
        ("weight", "9", "1"),
    ]


def test_contents_of_files_are_compared_by_identity_and_not_shown() -> None:
    wanted = render_load_balancer(service())
    file = wire.File(name="x.pem", kind="certificate", content="-----BEGIN SECRET", sha256="b" * 64)
    with_file = replace(wanted, load_balancer=replace(config(wanted), files=(file,)))
    held = replace(config(wanted), files=(replace(file, content=""),))
    assert operations(with_file, held) == []
    (step,) = describe_changes("h", [with_file], [config(wanted)], NOTHING, complete=False).operations
    assert {one.name: one.wanted for one in step.attributes} == {"kind": "certificate", "sha256": "b" * 64}


def test_deleted_load_balancer_is_removed_and_one_that_cannot_be_rendered_stays() -> None:
    held = config(render_load_balancer(service(2)))
    assert {verb for verb, _, _ in operations(render_load_balancer(gone(2)), held)} == {"delete"}
    assert operations(render_load_balancer(gone()), held) == []
    assert {verb for verb, _, _ in operations(render_load_balancer(gone()), held, complete=True)} == {"delete"}
    refused = RenderedConfig(service=service(2), problem="no such algorithm")
    plan = describe_changes("h", [refused], [held], NOTHING, complete=True)
    assert (plan.operations, plan.problem) == ((), "no such algorithm")
