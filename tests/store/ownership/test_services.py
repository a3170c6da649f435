"""Definitions for the owner of a shard, and for nobody else."""

import pytest
from msgspec.structs import replace

from evenkeel.core.certificates import CertificateKind
from evenkeel.core.errors import SessionLost
from evenkeel.core.model import Listener
from evenkeel.core.service import ServiceCertificate
from tests.store.ownership_world import World, statements, world_fixture

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
    answer = await world.store.ownership.services(
        "a1", SESSION, shard_id, 1, load_balancer_ids=[ids[2], ids[0], foreign.id, "gone"], after_id="", limit=10
    )
    assert [each.load_balancer_id for each in answer.services] == [ids[0], ids[2]]
    assert set(answer.missing) == {foreign.id, "gone"} and not answer.more


async def test_all_of_a_shard_page_by_page(world: World) -> None:
    shard_id, ids = await scene(world, 5)
    seen: list[str] = []
    while True:
        answer = await world.store.ownership.services(
            "a1", SESSION, shard_id, 1, load_balancer_ids=None, after_id=seen[-1] if seen else "", limit=2
        )
        assert len(answer.services) <= 2
        seen += [each.load_balancer_id for each in answer.services]
        if not answer.more:
            break
    assert seen == ids


async def test_named_ones_beyond_the_limit_follow(world: World) -> None:
    shard_id, ids = await scene(world, 3)
    first = await world.store.ownership.services(
        "a1", SESSION, shard_id, 1, load_balancer_ids=ids, after_id="", limit=2
    )
    assert [each.load_balancer_id for each in first.services] == ids[:2] and first.more
    rest = await world.store.ownership.services(
        "a1", SESSION, shard_id, 1, load_balancer_ids=ids, after_id=ids[1], limit=2
    )
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
            page = await world.store.ownership.services(
                "a1", SESSION, shard_id, 1, load_balancer_ids=None, after_id=after, limit=9
            )
            seen += [each.load_balancer_id for each in page.services]
            sizes.append(len(page.services))
            assert page.more == (len(seen) < len(ids))
        assert seen == ids
        assert sum(sizes) == 6 and max(sizes) <= max(1, most)


async def test_definition_holds_what_is_below(world: World) -> None:
    shard_id, _ = await scene(world, 1)
    load_balancer = await world.placed(id="lb-9999")
    below = await world.tree(load_balancer)
    answer = await world.store.ownership.services(
        "a1", SESSION, shard_id, 1, load_balancer_ids=None, after_id="", limit=9
    )
    definition = answer.services[-1]
    assert (definition.load_balancer_id, definition.revision) == (load_balancer.id, 1)
    assert definition.listeners[0].default_pool_id == below["pool"]
    assert definition.pools[0].members[0].id == below["member"]


async def test_one_that_does_not_own_the_shard_gets_nothing(world: World) -> None:
    shard_id, _ = await scene(world, 1)
    await world.agent("a2")
    others = "session-of-a2"
    for agent_id, session, epoch in (("a1", SESSION, 2), ("a2", others, 1), ("a1", "nonsense", 1), ("a1", others, 1)):
        with pytest.raises(SessionLost):
            await world.store.ownership.services(
                agent_id, session, shard_id, epoch, load_balancer_ids=None, after_id="", limit=9
            )


async def test_number_of_statements_does_not_depend_on_size(world: World) -> None:
    shard_id, _ = await scene(world, 1)
    counts = []
    for count in (1, 40):
        if count > 1:
            for number in range(100, 100 + count):
                await world.tree(await world.placed(id=f"lb-{number:04}"))
        with statements() as seen:
            await world.store.ownership.services(
                "a1", SESSION, shard_id, 1, load_balancer_ids=None, after_id="", limit=100
            )
        counts.append(len(seen.sent))
    assert counts == [8, 9]  # of more than one, whether they are too large for a page


async def test_a_page_tells_what_references_name_by_one_more_statement(world: World) -> None:
    """And by none more if nothing on the page has any."""
    shard_id, (plain_id,) = await scene(world, 1)
    counts = {}
    for number in (1, 2, 3):
        root = await world.placed(id=f"tls-{number}")
        below = {"load_balancer_id": root.id, "project_id": "p1", "protocol_port": 443}
        row = Listener(
            id=f"l-{number}", protocol="TERMINATED_HTTPS", default_tls_container_ref=f"ref-{number}", **below
        )
        await world.add(row, replace(row, id=f"m-{number}", protocol_port=444, default_tls_container_ref="unread"))
        for owner_id in (row.id, f"n-{number}"):
            await world.certificate(root, f"ref-{number}", owner_id=owner_id)
        await world.certificate(root, "a-ca", kind="authority", owner_id=f"n-{number}")
    for name, ids in {"none": [plain_id], "one": ["tls-1"], "all": None}.items():
        with statements() as seen:
            answer = await world.store.ownership.services(
                "a1", SESSION, shard_id, 1, load_balancer_ids=ids, after_id="", limit=9
            )
        counts[name] = len([each for each in seen.sent if "FROM listener" in each or "certificate_use" in each])
    assert counts == {"none": 1, "one": 2, "all": 2}
    named = {each.load_balancer_id: each.certificates for each in answer.services}
    assert named[plain_id] == ()
    for number in (1, 2, 3):
        assert named[f"tls-{number}"] == (
            ServiceCertificate(reference="a-ca", kind=CertificateKind.AUTHORITY, sha256="a" * 64),
            ServiceCertificate(reference=f"ref-{number}", kind=CertificateKind.CERTIFICATE, sha256="a" * 64),
        )
