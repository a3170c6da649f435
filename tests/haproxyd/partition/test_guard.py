"""Whose a partition is, without any HAProxy: what moves the guard, and who may write under it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog

from evenkeel.core.control.epochs import EPOCH_JUMP_MAX, EPOCH_MAX
from evenkeel.core.kit.errors import StaleOwner
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import GuardFile, PartitionStorage
from evenkeel.haproxyd.errors import InvalidChange
from evenkeel.haproxyd.network.peer_ports import PeerPorts
from evenkeel.haproxyd.partition.guard import (
    UNGUARDED_EPOCH,
    EpochJumpTooLarge,
    ForeignPartition,
    NotPartitionOwner,
    PartitionGuard,
)
from evenkeel.haproxyd.partition.manager import PartitionManager
from evenkeel.haproxyd.partition.owners import remove_owner
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.world import world

LIFE = "life-1"


@pytest.fixture
def storage(tmp_path: Path) -> PartitionStorage:
    made = PartitionStorage(tmp_path / "p", tmp_path / "keys" / "p")
    made.prepare()
    return made


def opened(storage: PartitionStorage) -> PartitionGuard:
    """As a daemon that begins has it."""
    settings = DaemonSettings(name="h", state_dir=storage.directory.parent, run_dir=storage.directory.parent / "r")
    guard = PartitionGuard("p", settings, storage, PeerPorts(settings))
    guard.read()
    return guard


def guard_of(epoch: int, session_id: str = "first", owner: str = "") -> wire.GuardState:
    return wire.GuardState(epoch=epoch, session_id=session_id, owner=owner)


def change_of(epoch: int, session_id: str = "first", state_id: str = LIFE) -> wire.PartitionChange:
    return wire.PartitionChange(epoch=epoch, session_id=session_id, state_id=state_id)


async def test_guard_keeps_its_owner_after_a_restart(storage: PartitionStorage) -> None:
    await opened(storage).set_owner(guard_of(5, owner="dev/1"))
    guard = opened(storage)
    assert (guard.epoch, guard.session_id, guard.owner) == (5, "first", "dev/1")
    guard.admit(change_of(5), LIFE)
    for epoch, session_id in ((4, "first"), (5, "second"), (5, "")):
        with pytest.raises(StaleOwner) as refusal:
            await guard.set_owner(guard_of(epoch, session_id))
        assert refusal.value.seen_epoch == 5
        with pytest.raises(StaleOwner):
            guard.admit(change_of(epoch, session_id), LIFE)
    await guard.set_owner(guard_of(6, "second"))
    assert (guard.epoch, guard.session_id, guard.owner) == (6, "second", "dev/1")


async def test_nothing_is_admitted_under_a_guard_that_is_not_the_senders(storage: PartitionStorage) -> None:
    guard = opened(storage)
    with pytest.raises(NotPartitionOwner) as refusal:
        guard.admit(change_of(3), LIFE)
    assert refusal.value.seen_epoch is None
    await guard.set_owner(guard_of(2))
    with pytest.raises(NotPartitionOwner) as refusal:
        guard.admit(change_of(3), LIFE)
    assert refusal.value.seen_epoch == 2


async def test_guard_moved_before_a_restart_must_be_moved_again(storage: PartitionStorage) -> None:
    guard = opened(storage)
    await guard.set_owner(guard_of(2))
    for life in ("", "life-0"):
        with pytest.raises(NotPartitionOwner, match="has a new state"):
            guard.admit(change_of(2, state_id=life), LIFE)


async def test_guard_is_not_raised_by_more_than_the_allowed_jump(storage: PartitionStorage) -> None:
    guard = opened(storage)
    for seen_epoch in (0, EPOCH_JUMP_MAX):  # the first owner's too: nobody can begin near the end
        for far in (seen_epoch + EPOCH_JUMP_MAX + 1, EPOCH_MAX):
            with pytest.raises(EpochJumpTooLarge, match="are allowed at once") as refusal:
                await guard.set_owner(guard_of(far))
            assert refusal.value.seen_epoch == seen_epoch
        await guard.set_owner(guard_of(seen_epoch + EPOCH_JUMP_MAX))


async def test_an_impossible_epoch_on_disk_is_reported_and_locks_nobody_out(storage: PartitionStorage) -> None:
    storage.write_guard(GuardFile(epoch=2**63 - 1, session_id="x", owner="dev/1"))
    with structlog.testing.capture_logs() as logs:
        guard = opened(storage)
    assert guard.epoch == UNGUARDED_EPOCH
    assert [(line["log_level"], line["epoch"]) for line in logs] == [("error", 2**63 - 1)]
    with pytest.raises(NotPartitionOwner):
        guard.admit(change_of(5), LIFE)
    await guard.set_owner(guard_of(5))
    assert (opened(storage).epoch, guard.owner) == (5, "dev/1")


async def test_another_device_group_is_refused(storage: PartitionStorage) -> None:
    guard = opened(storage)
    await guard.set_owner(guard_of(1, owner="dev/1"))
    with pytest.raises(ForeignPartition, match="belong to dev/1, not dev/2"):
        await guard.set_owner(guard_of(9, owner="dev/2"))
    assert guard.epoch == 1


# -- all partitions of one daemon


@pytest.fixture
async def daemon() -> AsyncIterator[PartitionManager]:
    async with world() as site:
        yield site.partitions


async def test_a_change_does_not_make_a_partition(daemon: PartitionManager) -> None:
    for complete in (False, True):
        with pytest.raises(NotPartitionOwner):
            await daemon.change("dev_p", change_of(1), complete=complete)
    assert daemon.names() == ()


async def test_a_caller_without_a_session_is_refused(daemon: PartitionManager) -> None:
    for complete in (False, True):
        with pytest.raises(InvalidChange, match="session_id"):
            await daemon.change("dev_p", wire.PartitionChange(epoch=1), complete=complete)
    with pytest.raises(InvalidChange, match="session_id"):
        await daemon.take_over("dev_p", wire.GuardState(epoch=1))
    assert daemon.names() == ()


@pytest.mark.parametrize("epoch", [-1, EPOCH_MAX + 1, 2**63 - 1])
async def test_an_impossible_epoch_is_refused_by_name_and_nothing_changes(daemon: PartitionManager, epoch: int) -> None:
    with pytest.raises(InvalidChange, match=f"epoch is {epoch}; a whole number from 0 to {EPOCH_MAX}"):
        await daemon.take_over("dev_p", guard_of(epoch))
    with pytest.raises(InvalidChange, match="epoch is"):
        await daemon.change("dev_p", change_of(epoch), complete=True)
    assert daemon.names() == ()


async def test_partitions_of_one_prefix_belong_to_one_device_group(daemon: PartitionManager) -> None:
    await daemon.take_over("dev_a", guard_of(1, owner="dev/1"))
    for name in ("dev_a", "dev_b"):
        with pytest.raises(ForeignPartition):
            await daemon.take_over(name, guard_of(2, "second", owner="dev/2"))
    assert daemon.names() == ("dev_a",)
    await daemon.take_over("prod_a", guard_of(1, owner="prod/1"))
    assert daemon.owners == {"dev": "dev/1", "prod": "prod/1"}
    again = PartitionManager(daemon._settings)
    await again.start()
    assert again.owners == daemon.owners


async def test_every_life_is_another_one_of_the_same_installation(daemon: PartitionManager) -> None:
    again = PartitionManager(daemon._settings)
    await again.start()
    assert again.identity.installation_id == daemon.identity.installation_id
    assert again.identity.state_id != daemon.identity.state_id
    assert again.identity.is_current() and not daemon.identity.is_current()


async def test_disowned_partitions_may_be_taken_by_another_group(daemon: PartitionManager) -> None:
    for name in ("dev_a", "dev_b", "dev_x_a"):
        await daemon.take_over(name, guard_of(3, owner="dev/1"))
    assert remove_owner(daemon._settings, "dev") == {"dev_a": "dev/1", "dev_b": "dev/1"}
    assert remove_owner(daemon._settings, "nobody") == {}
    again = PartitionManager(daemon._settings)
    await again.start()
    await again.take_over("dev_a", guard_of(4, "second", owner="dev/2"))
    assert again.owners == {"dev": "dev/2", "dev_x": "dev/1"}
    with pytest.raises(StaleOwner):  # whose it is is another matter than who was first
        await again.take_over("dev_b", guard_of(2, "second", owner="dev/2"))


async def test_a_partition_is_created_while_another_one_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world() as daemon:
        begun, slow_disk, made = asyncio.Event(), threading.Event(), []
        loop, prepare = asyncio.get_running_loop(), PartitionStorage.prepare

        def prepared(storage: PartitionStorage) -> None:
            made.append(storage.directory.name)
            if storage.directory.name == "slow":
                loop.call_soon_threadsafe(begun.set)
                slow_disk.wait()
            prepare(storage)

        monkeypatch.setattr(PartitionStorage, "prepare", prepared)
        async with asyncio.TaskGroup() as waiting:
            first, second = (waiting.create_task(daemon.take_over("slow", epoch)) for epoch in (1, 2))
            try:
                await begun.wait()
                assert (await daemon.take_over("quick", 1)).epoch == 1
                assert not first.done() and not second.done()
            finally:
                slow_disk.set()
        assert made == ["slow", "quick"]
        assert (first.result().epoch, second.result().epoch) == (1, 2)
