"""Private keys reach the devices of those who may have them, sealed on their way, and nobody and nothing else."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.bus import deliveries, memory
from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.protocol import messages as m
from evenkeel.core.tls.certificates import CertificateContent, CertificateKind, NewCertificate, Secret
from evenkeel.key_managers.directory import DirectoryKeyManager
from evenkeel.key_managers.directory.encryption import Encryption
from evenkeel.sealing import BoxContext, BoxKeyPair, SealingError
from tests import canary
from tests.key_managers.authority import INTERMEDIATE, LEAF, Issued, ec_key
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

CERTIFICATE = CertificateKind.CERTIFICATE


class Certificates:
    """A directory of certificates that can be told to fail, and counts reads."""

    def __init__(self, root: Path) -> None:
        self.directory = DirectoryKeyManager(root, Encryption([os.urandom(32)]))
        self.failure: Exception | None = None
        self.reads = 0

    async def add(self, project_id: str, name: str, issued: Issued = LEAF) -> str:
        """Its reference."""
        new = NewCertificate(
            project_id=ProjectId(project_id),
            name=name,
            kind=CERTIFICATE,
            content=Secret(issued.pem),
            private_key=Secret(issued.key_pem()),
            intermediates=INTERMEDIATE.pem,
        )
        return (await self.directory.add(new, replace=True)).reference

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **named: Any) -> Any:
            self.reads += 1
            if self.failure is not None:
                raise self.failure
            return await getattr(self.directory, name)(*args, **named)

        return method


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    manager = Certificates(tmp_path / "certificates")
    made.key_manager = manager
    yield made
    await made.close()
    manager.directory.close()


def manager_of(world: World) -> Certificates:
    assert isinstance(world.key_manager, Certificates)
    return world.key_manager


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every message that anybody sends or answers from now on."""
    found: list[bytes] = []
    real = memory.encode

    def encode(*args: Any, **named: Any) -> bytes:
        found.append(real(*args, **named))
        return found[-1]

    monkeypatch.setattr(memory, "encode", encode)
    monkeypatch.setattr(deliveries, "encode", encode)
    return found


async def served(world: World, project_id: str) -> str:
    """A load balancer with a certificate, and the device holds it."""
    reference = await manager_of(world).add(project_id, "www")
    load_balancer_id = await world.create(project_id, reference)
    await eventually(lambda: world.active(load_balancer_id))
    return load_balancer_id


async def test_a_device_gets_certificate_and_key_and_nobody_else_sees_the_key(
    world: World, sent: list[bytes], tmp_path: Path
) -> None:
    await world.start()
    await served(world, "a")
    (content,) = world.contents.values()
    assert content.private_key is not None and content.private_key.reveal() == LEAF.key_pem()
    assert canary.is_in(content.private_key.reveal()), "the canary sings"
    assert any(b'"certificates"' in raw for raw in sent) and not any(canary.is_in(raw) for raw in sent)
    await world.close()
    assert not files_with_the_key(tmp_path)


def files_with_the_key(folder: Path) -> list[Path]:
    """The database and what it writes beside itself, above all."""
    return [path for path in folder.rglob("*") if path.is_file() and canary.is_in(path.read_bytes())]


async def test_certificates_on_devices_serve_while_the_key_manager_is_unavailable(world: World) -> None:
    await world.start(agents=2)
    load_balancer_id = await served(world, "a")
    manager, host = manager_of(world), await world.acting(load_balancer_id)
    manager.failure = KeyManagerUnavailable("away")
    await world.kill(host)
    await eventually(lambda: moved(world, load_balancer_id, host))
    await world.rename(load_balancer_id, "another name")
    await eventually(lambda: world.active(load_balancer_id))
    assert world.on_device("a") == {load_balancer_id: "another name"}  # settled: ACTIVE means that the devices hold it


async def moved(world: World, load_balancer_id: str, host: str) -> bool:
    return await world.acting(load_balancer_id) not in ("", host)


async def test_unreadable_certificate_is_an_error_only_where_a_device_lacks_it(world: World) -> None:
    await world.start()
    load_balancer_id = await served(world, "a")
    other = await world.create("a")
    manager_of(world).failure = CertificateNotFound("a/www")
    world.contents.clear()
    await world.rename(load_balancer_id, "another name")
    await world.rename(other, "others go on")
    await eventually(lambda: world.active(other))
    await eventually(lambda: has_reason(world, load_balancer_id, "Could not retrieve certificate"))
    assert (await world.root(load_balancer_id)).provisioning_status == "ERROR"
    manager_of(world).failure = None
    await eventually(lambda: world.active(load_balancer_id))


async def has_reason(world: World, load_balancer_id: str, reason: str) -> bool:
    return reason in (await world.root(load_balancer_id)).status_reason


class Attacker:
    """Speaks on the bus as whoever it wants."""

    def __init__(self, world: World, load_balancer_id: str) -> None:
        self.world = world
        self.load_balancer_id = load_balancer_id
        self.keys = BoxKeyPair()

    async def call(self, host: str, **changes: Any) -> m.GetCertificates:
        """What the owner of the shard would ask, but for the changes."""
        shard = await self.world.store.operators.shard_of_load_balancer(self.load_balancer_id)
        assert shard is not None
        agent_id = default_agent_id(ENVIRONMENT, 1, host)
        session_id = (await self.world.store.operators.agent(agent_id)).session_id
        (sha256,) = self.world.contents
        wanted = m.WantedCertificate(
            load_balancer_id=self.load_balancer_id,  # type: ignore[arg-type]
            reference="directory://a/www",
            kind=CERTIFICATE,
            sha256=sha256,
        )
        call = m.GetCertificates(
            agent_id=agent_id,
            session_id=session_id,  # type: ignore[arg-type]
            shard_id=shard.id,
            epoch=shard.epoch,
            wanted=(wanted,),
        )
        of_wanted = {name: value for name, value in changes.items() if name in wanted.__struct_fields__}
        of_call = {name: value for name, value in changes.items() if name not in of_wanted}
        return replace(call, wanted=(replace(wanted, **of_wanted),), **of_call)

    async def ask(self, call: m.Call) -> m.AnyReply:
        bus = await self.world._bus("attacker")
        try:
            return await bus.call(m.callback_queue(ENVIRONMENT), call, timeout_seconds=60.0)
        finally:
            await bus.close()

    def opened(self, answer: m.AnyReply, call: m.GetCertificates) -> list[CertificateContent]:
        """What the attacker can read of an answer."""
        assert isinstance(answer, m.Certificates)
        found = []
        for sha256, box in answer.sealed.items():
            purpose = BoxContext(
                agent_id=call.agent_id,
                session_id=call.session_id,
                shard_id=call.shard_id,
                epoch=call.epoch,
                sha256=sha256,
            )
            with pytest.raises(SealingError):
                found.append(self.keys.open(box, purpose))
        return found


@pytest.fixture
async def attacker(world: World) -> Attacker:
    await world.start(agents=2)
    load_balancer_id = await served(world, "a")
    return Attacker(world, load_balancer_id)


async def test_attacker_in_the_owners_name_gets_a_box_that_only_the_owner_opens(attacker: Attacker) -> None:
    """Whoever may send in an agent's name has its answer, and nothing of it."""
    call = await attacker.call(await attacker.world.acting(attacker.load_balancer_id))
    answer = await attacker.ask(call)
    assert isinstance(answer, m.Certificates) and answer.sealed
    assert attacker.opened(answer, call) == []


async def test_another_agent_is_given_nothing_of_a_shard_that_it_does_not_serve(attacker: Attacker) -> None:
    owner = await attacker.world.acting(attacker.load_balancer_id)
    other = next(host for host in attacker.world.agents if host != owner)
    answer = await attacker.ask(await attacker.call(other))
    assert isinstance(answer, m.Refused) and answer.code == m.SESSION_LOST


async def test_former_owner_gets_no_certificates(attacker: Attacker) -> None:
    world = attacker.world
    owner = await world.acting(attacker.load_balancer_id)
    before = await attacker.call(owner)
    await world.kill(owner)
    await eventually(lambda: moved(world, attacker.load_balancer_id, owner))
    answer = await attacker.ask(before)
    assert isinstance(answer, m.Refused) and answer.code == m.SESSION_LOST


async def test_an_old_epoch_or_an_invented_session_is_given_nothing(attacker: Attacker) -> None:
    owner = await attacker.world.acting(attacker.load_balancer_id)
    call = await attacker.call(owner)
    for changed in (replace(call, epoch=call.epoch - 1), replace(call, session_id="invented")):  # type: ignore[arg-type]
        answer = await attacker.ask(changed)
        assert isinstance(answer, m.Refused) and answer.code == m.SESSION_LOST


async def test_certificate_without_a_load_balancer_of_the_shard_is_not_given(attacker: Attacker) -> None:
    world = attacker.world
    owner = await world.acting(attacker.load_balancer_id)
    unused = await manager_of(world).add("a", "unused", Issued("unused", INTERMEDIATE, ec_key()))
    foreign_reference = await manager_of(world).add("b", "www")
    foreign = await world.create("b", foreign_reference)
    await eventually(lambda: world.active(foreign))
    reads = manager_of(world).reads
    for changes in (
        {"reference": unused},
        {"reference": foreign_reference},
        {"load_balancer_id": foreign, "reference": foreign_reference},
    ):
        answer = await attacker.ask(await attacker.call(owner, **changes))
        assert isinstance(answer, m.Certificates)
        assert answer.sealed == {} and "does not refer to it" in "".join(answer.problems.values())
    assert manager_of(world).reads == reads, "it is not even read"


async def test_a_box_is_of_no_use_in_another_session_shard_or_place(attacker: Attacker) -> None:
    """Somebody who keeps boxes from the bus gives them back to the very process that they were sealed for."""
    world = attacker.world
    owner = await world.acting(attacker.load_balancer_id)
    keys = world.agents[owner]._key_pair
    call = await attacker.call(owner)
    answer = await attacker.ask(call)
    assert isinstance(answer, m.Certificates)
    ((sha256, box),) = answer.sealed.items()
    purpose = BoxContext(
        agent_id=call.agent_id, session_id=call.session_id, shard_id=call.shard_id, epoch=call.epoch, sha256=sha256
    )
    assert keys.open(box, purpose) == world.contents[sha256]
    for changes in ({"session_id": "next"}, {"shard_id": "other"}, {"epoch": call.epoch + 1}, {"sha256": "0" * 64}):
        with pytest.raises(SealingError):
            keys.open(box, replace(purpose, **changes))


async def test_a_renewed_certificate_reaches_devices_by_itself(world: World) -> None:
    await world.start()
    load_balancer_id = await served(world, "a")
    (before,) = world.contents
    await manager_of(world).add("a", "www", Issued("www.example.org", INTERMEDIATE, ec_key()))
    await world.store.renewals.make_certificate_due(ProjectId("a"), "directory://a/www", CERTIFICATE)
    await eventually(lambda: len(world.contents) == 2)
    await eventually(lambda: world.active(load_balancer_id))
    (held,) = world.memory.partitions["a"].holds[load_balancer_id].certificates
    assert held.sha256 != before
    kinds = [event.kind for event in await world.store.operators.events(newest=True)]
    assert kinds.count("certificate_renewed") == 1


async def test_a_certificate_that_is_gone_stays_served_and_is_reported(world: World) -> None:
    await world.start()
    load_balancer_id = await served(world, "a")
    revision = (await world.root(load_balancer_id)).revision
    await manager_of(world).directory.delete(ProjectId("a"), "www")
    await world.store.renewals.make_certificate_due(ProjectId("a"), "directory://a/www", CERTIFICATE)
    await eventually(lambda: told(world, "certificate_unreadable"))
    # settled: nothing may ever change
    assert await world.active(load_balancer_id) and (await world.root(load_balancer_id)).revision == revision
    await world.rename(load_balancer_id, "another name")
    await eventually(lambda: world.active(load_balancer_id))


async def told(world: World, kind: str) -> bool:
    return kind in [event.kind for event in await world.store.operators.events(newest=True)]
