"""Definitions for the owner of a shard, and for nobody else."""

import pytest
from msgspec.structs import replace

from evenkeel.controller.inlined_definitions import inlined_definition
from evenkeel.core.control.shards import OwnershipTerm
from evenkeel.core.resources.model import Listener
from evenkeel.key_managers.parsing.facts import certificate_facts
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.key_managers.authority import ROOT
from tests.store.builders import tree, vip, with_policies
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

SESSION = "session-of-a1"


async def scene(world: World, count: int) -> tuple[str, list[str]]:
    """A shard of a1 with so many load balancers; its id and theirs in order."""
    await world.agent("a1")
    ids = [(await world.placed(id=f"lb-{number:04}")).id for number in range(count)]
    return (await world.shard_of("p1")).id, ids


async def test_named_load_balancers_and_missing_ones(world: World) -> None:
    shard_id, ids = await scene(world, 3)
    foreign = await world.placed(project_id="p2")
    answer = (
        await world.store.ownership.services(
            "a1", SESSION, shard_id, 1, load_balancer_ids=[ids[2], ids[0], foreign.id, "gone"], after_id="", limit=10
        )
    ).page
    assert [each.load_balancer_id for each in answer.services] == [ids[0], ids[2]]
    assert set(answer.missing) == {foreign.id, "gone"} and not answer.more


async def test_a_definition_that_travels_with_the_hint_equals_the_requested_one(world: World) -> None:
    shard_id, _ = await scene(world, 1)
    wanted = with_policies(tree(listeners=3, members=4, project_id="p1", provider="east"), policies=3, rules=3)
    change = await world.store.tenants.create_load_balancer(wanted, vip())
    history = (await world.store.operators.history()).id
    assert change.term == OwnershipTerm(session_id=SESSION, epoch=1, history=history)
    found = await world.store.ownership.services(
        "a1", SESSION, shard_id, 1, load_balancer_ids=[change.load_balancer_id], after_id="", limit=1
    )
    definition = inlined_definition(change)
    assert definition is not None
    assert (definition.service,) == found.page.services


async def test_bare_tags_are_in_requested_definitions_where_they_are_honoured(world: World) -> None:
    shard_id, _ = await scene(world, 1)
    store = SqlStore(world.db, StoreOptions(bare_esd_tags=True))
    plain = tree(listeners=1, project_id="p1", provider="east")
    wanted = replace(plain, listeners=(replace(plain.listeners[0], tags=("esd:web", "blue")),))
    change = await store.tenants.create_load_balancer(wanted, vip())
    # Its agent has to request it.
    assert inlined_definition(change) is None
    named = []
    for each in (store, world.store):
        found = await each.ownership.services(
            "a1", SESSION, shard_id, 1, load_balancer_ids=[change.load_balancer_id], after_id="", limit=1
        )
        named += [one.enhanced_services for service in found.page.services for one in service.listeners]
    assert named == [("web", "?blue"), ("web",)]


async def test_nothing_travels_to_devices_that_are_attached_to_networks(world: World) -> None:
    await scene(world, 1)
    layout = '{"adjacent":true}'
    await world.store.database.write(
        lambda connection: connection.execute(schema.device_group.update().values(network_layout=layout))
    )
    change = await world.store.tenants.create_load_balancer(tree(project_id="p1", provider="east"), vip())
    assert change.owner is not None
    assert change.term is None


async def test_all_of_a_shard_page_by_page(world: World) -> None:
    shard_id, ids = await scene(world, 5)
    seen: list[str] = []
    while True:
        answer = (
            await world.store.ownership.services(
                "a1", SESSION, shard_id, 1, load_balancer_ids=None, after_id=seen[-1] if seen else "", limit=2
            )
        ).page
        assert len(answer.services) <= 2
        seen += [each.load_balancer_id for each in answer.services]
        if not answer.more:
            break
    assert seen == ids


async def test_named_ones_beyond_the_limit_follow(world: World) -> None:
    shard_id, ids = await scene(world, 3)
    first = (
        await world.store.ownership.services("a1", SESSION, shard_id, 1, load_balancer_ids=ids, after_id="", limit=2)
    ).page
    assert [each.load_balancer_id for each in first.services] == ids[:2] and first.more
    rest = (
        await world.store.ownership.services(
            "a1", SESSION, shard_id, 1, load_balancer_ids=ids, after_id=ids[1], limit=2
        )
    ).page
    assert [each.load_balancer_id for each in rest.services] == ids[2:] and not rest.more


async def test_a_page_of_large_ones_is_shorter_and_never_empty(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.agent("a1")
    ids = [f"lb-{number:04}" for number in range(6)]
    for load_balancer_id in ids:
        await world.tree(await world.placed(id=load_balancer_id))
    shard_id = (await world.shard_of("p1")).id
    for most in (0, 2, 6):
        monkeypatch.setattr("evenkeel.store.ownership.services.MEMBERS_PER_PAGE", most)
        seen: list[str] = []
        sizes = []
        while len(seen) < len(ids):
            after = seen[-1] if seen else ""
            page = (
                await world.store.ownership.services(
                    "a1", SESSION, shard_id, 1, load_balancer_ids=None, after_id=after, limit=9
                )
            ).page
            seen += [each.load_balancer_id for each in page.services]
            sizes.append(len(page.services))
            assert page.more == (len(seen) < len(ids))
        assert seen == ids
        assert sum(sizes) == 6 and max(sizes) <= max(1, most)


async def test_definition_holds_what_is_below(world: World) -> None:
    shard_id, _ = await scene(world, 1)
    root = await world.placed(id="tls")
    below = {"load_balancer_id": root.id, "project_id": "p1", "protocol_port": 443}
    await world.add(Listener(id="l-9", protocol="TERMINATED_HTTPS", default_tls_container_ref="rsa", **below))
    same = ("www.example.org", "*.example.org")
    each = {"rsa": ("rsa", same), "ecdsa": ("ecdsa", same[::-1]), "other": ("rsa", same[:1])}
    for reference, (key_type, names) in each.items():
        facts = replace(certificate_facts(ROOT.certificate), dns_names=names, key_type=key_type)
        await world.certificate(root, reference, owner_id="l-9", facts=facts)
    answer = (
        await world.store.ownership.services(
            "a1", SESSION, shard_id, 1, load_balancer_ids=[root.id], after_id="", limit=9
        )
    ).page
    named = {each.reference: each for each in answer.services[0].certificates}
    assert {name: each.key_type for name, each in named.items()} == {"rsa": "rsa", "ecdsa": "ecdsa", "other": "rsa"}
    assert named["rsa"].names_sha256 == named["ecdsa"].names_sha256 != named["other"].names_sha256
