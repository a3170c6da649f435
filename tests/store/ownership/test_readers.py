"""Contents of certificates are for the owner of the shard whose load balancers refer to them."""

from typing import Any

import pytest

from evenkeel.core.kit.errors import CallRefused, SessionLost
from evenkeel.core.protocol.messages import CERTIFICATES_PER_CALL, WantedCertificate
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.tls.certificates import CertificateKind, CertificateReader, ReadableCertificate
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

SESSION = "session-of-a1"
KEY = b"\x07" * 32


async def scene(world: World) -> tuple[str, LoadBalancer]:
    """A shard of a1 with a load balancer that refers to something."""
    await world.agent("a1", sealing_key=KEY)
    load_balancer = await world.placed(id="lb-1")
    await world.certificate(load_balancer, "ref-1")
    return (await world.shard_of("p1")).id, load_balancer


def wanted(load_balancer_id: str = "lb-1", reference: str = "ref-1", **changes: Any) -> WantedCertificate:
    values: dict[str, Any] = {"kind": CertificateKind.CERTIFICATE, "sha256": "b" * 64}
    return WantedCertificate(load_balancer_id=load_balancer_id, reference=reference, **(values | changes))


async def reader(world: World, shard_id: str, *asked: WantedCertificate, **changes: Any) -> CertificateReader:
    values: dict[str, Any] = {"agent_id": "a1", "session_id": SESSION, "epoch": 1}
    return await world.store.ownership.certificate_reader(shard_id=shard_id, wanted=asked, **(values | changes))


async def test_certificate_of_a_load_balancer_of_the_shard_is_readable(world: World) -> None:
    shard_id, _ = await scene(world)
    found = await reader(world, shard_id, wanted(), wanted())
    expected = ReadableCertificate(
        project_id="p1", reference="ref-1", kind=CertificateKind.CERTIFICATE, sha256="b" * 64
    )
    assert found == CertificateReader(sealing_key=KEY, readable=(expected,))


async def test_nothing_else(world: World) -> None:
    """Neither another reference, nor another kind, nor what load balancers of other shards refer to."""
    shard_id, _ = await scene(world)
    foreign = await world.placed(id="lb-2", project_id="p2")
    await world.certificate(foreign, "ref-2")
    asked = [
        wanted(reference="ref-2"),
        wanted("lb-2", "ref-2"),
        wanted("lb-2", "ref-1"),
        wanted("gone"),
        wanted(kind=CertificateKind.AUTHORITY),
        wanted(reference="\x00"),
    ]
    assert (await reader(world, shard_id, *asked)).readable == ()


async def test_certificates_are_refused_to_all_but_the_owner_of_the_shard(world: World) -> None:
    shard_id, _ = await scene(world)
    await world.agent("a2", sealing_key=KEY)
    strangers: list[dict[str, Any]] = [
        {"agent_id": "a2", "session_id": "session-of-a2"},
        {"session_id": "another"},
        {"epoch": 2},
    ]
    for changes in strangers:
        with pytest.raises(SessionLost):
            await reader(world, shard_id, wanted(), **changes)
    with pytest.raises(SessionLost):
        await reader(world, "gone", wanted())


async def test_a_session_without_a_key_may_have_nothing(world: World) -> None:
    await world.agent("a1")
    await world.certificate(await world.placed(id="lb-1"), "ref-1")
    shard_id = (await world.shard_of("p1")).id
    assert await reader(world, shard_id, wanted()) == CertificateReader(sealing_key=b"", readable=())


async def test_the_key_of_an_earlier_session_is_not_used(world: World) -> None:
    """Controllers of the version before open sessions and do not know the columns."""
    shard_id, _ = await scene(world)
    await world.change(schema.agent, "a1", session_id="of-an-old-controller")
    found = await reader(world, shard_id, wanted(), session_id="of-an-old-controller")
    assert found == CertificateReader(sealing_key=b"", readable=())


async def test_no_more_than_a_call_may_request(world: World) -> None:
    shard_id, load_balancer = await scene(world)
    more = [wanted(reference=f"more-{number}") for number in range(CERTIFICATES_PER_CALL + 1)]
    for each in more:
        await world.certificate(load_balancer, each.reference)
    found = await reader(world, shard_id, *more)
    assert [each.reference for each in found.readable] == [each.reference for each in more[:CERTIFICATES_PER_CALL]]


async def test_a_key_longer_than_keys_are_is_refused(world: World) -> None:
    with pytest.raises(CallRefused, match="sealing_key: 65 bytes; there may be 64") as refused:
        await world.agent("a1", sealing_key=b"k" * 65)
    assert refused.value.code == "bad_sealing_key"
