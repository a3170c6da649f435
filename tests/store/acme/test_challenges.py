"""Challenges on load balancers: only on the project's own, with a revision that says when devices have them."""

from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceDefinition, service_definition_of_tree
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Vip
from evenkeel.core.tls.acme.values import AcmeCertificate, Authorization, AuthorizationStatus
from evenkeel.store.records import schema
from tests.store.acme.test_certificates import new, taken
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

PROJECT = ProjectId("p1")
ADDRESS = "192.0.2.1"


def authorization(token: str = "token") -> Authorization:
    return Authorization(
        name="www.example.org",
        status=AuthorizationStatus.PENDING,
        challenge_url="https://ca.example/challenge/1",
        token=token,
        key_authorization=f"{token}.print",
        unanswered=True,
    )


async def with_address(world: World, address: str = ADDRESS, *, listener: bool = True, **changes: Any) -> LoadBalancer:
    """A placed load balancer with that VIP."""
    network = changes.pop("network_id", "n1")
    await world.agent("a1")
    vip = Vip(address=address, subnet_id="s1", network_id=network, port_id="port")
    root = await world.placed(vip=vip, **changes)
    row = {"load_balancer_id": root.id, "address": address, "network_id": network, "subnet_id": "s1"}
    await world.db.write(lambda c: c.execute(schema.vip_address.insert().values(**row)))
    if listener:
        common = {"load_balancer_id": root.id, "project_id": root.project_id}
        await world.add(Listener(id=f"l-{root.id}"[:36], protocol="HTTP", protocol_port=80, **common))
    return root


async def stored(world: World, id_: str) -> LoadBalancer:
    root: LoadBalancer = await world.store.tenants.get(LoadBalancer, LoadBalancerId(id_), project_id=None)
    return root


async def in_turn(world: World) -> AcmeCertificate:
    await world.store.acme.store_request(new())
    return await taken(world)


async def test_targets_are_the_projects_own_load_balancers_with_the_address(world: World) -> None:
    own = await with_address(world)
    await with_address(world, project_id="p2", network_id="n2")
    await with_address(world, "192.0.2.9")
    (target,) = await world.store.acme.find_challenge_targets(PROJECT, [ADDRESS])
    assert (target.load_balancer_id, target.addresses, target.environment) == (own.id, (ADDRESS,), "east")
    assert target.has_http_listener and target.admin_state_up and target.placed and not target.mirrored
    assert await world.store.acme.find_challenge_targets(PROJECT, ["192.0.2.77"]) == ()


@pytest.mark.parametrize(
    "values",
    [
        {"protocol": "TCP", "protocol_port": 80},
        {"protocol_port": 80, "admin_state_up": False},
        {"protocol_port": 81},
        {"protocol": "UDP", "protocol_port": 80},
    ],
    ids=["tcp", "disabled", "other port", "udp"],
)
async def test_a_target_without_an_enabled_http_listener_on_port_80_is_shown_as_such(
    world: World, values: dict[str, Any]
) -> None:
    root = await with_address(world, listener=False)
    common = {"load_balancer_id": root.id, "project_id": root.project_id, "protocol": "HTTP"}
    await world.add(Listener(id="listener", **{**common, **values}))
    (target,) = await world.store.acme.find_challenge_targets(PROJECT, [ADDRESS])
    assert not target.has_http_listener
    assert target.port_taken == (values["protocol_port"] == 80 and values.get("protocol") != "UDP")


async def test_placed_challenges_raise_the_revision_once_and_are_applied_by_its_report(world: World) -> None:
    root, one = await with_address(world), await in_turn(world)
    wanted = {LoadBalancerId(root.id): [authorization()]}
    (placed,), (change,) = await world.store.acme.replace_challenges(one, wanted)
    assert not placed.applied and (change.load_balancer_id, change.revision) == (root.id, 2)
    after = await stored(world, root.id)
    assert (after.revision, after.challenges[0].token, after.challenges[0].revision) == (2, "token", 2)
    assert await world.store.acme.replace_challenges(one, wanted) == ((placed,), ())
    await world.change(schema.load_balancer, root.id, applied_revision=2, provisioning_status="ACTIVE")
    ((again,), changes) = await world.store.acme.replace_challenges(one, wanted)
    assert again.applied and changes == ()


async def test_removed_challenges_leave_those_of_another_certificate(world: World) -> None:
    root, one = await with_address(world), await in_turn(world)
    await world.store.acme.store_request(new("other"))
    other = await taken(world)
    id_ = LoadBalancerId(root.id)
    await world.store.acme.replace_challenges(one, {id_: [authorization("a")]})
    await world.store.acme.replace_challenges(other, {id_: [authorization("b")]})
    _, changes = await world.store.acme.replace_challenges(one, {})
    assert [change.revision for change in changes] == [4]
    assert [each.token for each in (await stored(world, root.id)).challenges if each.open] == ["b"]


async def test_a_load_balancer_stays_prepared_for_the_next_order_until_the_certificate_is_removed(world: World) -> None:
    root, one = await with_address(world), await in_turn(world)
    id_ = LoadBalancerId(root.id)

    async def place(certificate: AcmeCertificate, *tokens: str) -> tuple[int, ServiceDefinition]:
        wanted = {id_: [authorization(token) for token in tokens]} if tokens else {}
        _, changes = await world.store.acme.replace_challenges(certificate, wanted)
        return len(changes), service_definition_of_tree(LoadBalancerTree(load_balancer=await stored(world, root.id)))

    for tokens in (("a", "b"), ("c",)):
        changes, service = await place(one, *tokens)
        assert changes == 1 and set(service.challenges) == set(tokens)
        changes, service = await place(one)
        assert changes == 1 and service.challenges == {} and service.prepared_for_challenges
        assert (await place(one))[0] == 0
    await world.store.acme.request_removal(PROJECT, "www")
    changes, service = await place(await taken(world))
    assert changes == 1 and not service.prepared_for_challenges
    assert (await stored(world, root.id)).challenges == ()


async def test_a_load_balancer_to_which_the_names_lead_no_more_is_prepared_no_more(world: World) -> None:
    old, new_, one = await with_address(world), await with_address(world, "192.0.2.9"), await in_turn(world)
    await world.store.acme.replace_challenges(one, {LoadBalancerId(old.id): [authorization("a")]})
    await world.store.acme.replace_challenges(one, {})
    await world.store.acme.replace_challenges(one, {LoadBalancerId(new_.id): [authorization("b")]})
    assert (await stored(world, old.id)).challenges == ()
    assert [each.token for each in (await stored(world, new_.id)).challenges] == ["b"]


async def test_another_projects_load_balancer_never_gets_a_challenge(world: World) -> None:
    stranger, one = await with_address(world, project_id="p2"), await in_turn(world)
    assert await world.store.acme.replace_challenges(one, {LoadBalancerId(stranger.id): [authorization()]}) == ((), ())
    assert (await stored(world, stranger.id)).challenges == ()


async def test_a_controller_whose_turn_is_over_places_nothing(world: World) -> None:
    root, one = await with_address(world), await in_turn(world)
    await world.store.acme.request_removal(PROJECT, "www")
    assert await world.store.acme.replace_challenges(one, {LoadBalancerId(root.id): [authorization()]}) == ((), ())
    assert (await stored(world, root.id)).revision == 1
