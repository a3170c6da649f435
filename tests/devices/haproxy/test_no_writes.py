"""One of two hosts answers, and its disk takes nothing."""

from typing import Any

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable, OwnershipGuardLost, StaleOwner
from evenkeel.haproxyd.disk.change_log import ChangeLog
from evenkeel.haproxyd.disk.storage import PartitionStorage
from tests.devices.haproxy.rig import PARTITION, Box, HaproxyRig
from tests.devices.services import PROJECT, batch, service, session_of


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Folders of boxes whose disk is full."""
    folders: set[str] = set()
    write_guard, append = PartitionStorage.write_guard, ChangeLog.append

    def refuse(path: Any) -> None:
        if any(str(path).startswith(folder) for folder in folders):
            raise OSError(28, "No space left on device")

    def refusing_guard(self: PartitionStorage, *arguments: Any) -> None:
        refuse(self.directory)
        write_guard(self, *arguments)

    def refusing_append(self: ChangeLog, *arguments: Any) -> Any:
        refuse(self._log)
        return append(self, *arguments)

    monkeypatch.setattr(PartitionStorage, "write_guard", refusing_guard)
    monkeypatch.setattr(ChangeLog, "append", refusing_append)
    return folders


def held(box: Box) -> tuple[int, list[int]]:
    """The epoch of its guard, and the revisions of what it holds."""
    found = box.running.partitions.show(PARTITION)
    return found.epoch, [one.revision for one in found.load_balancers]


async def test_one_that_takes_no_guard_lags_and_gets_everything_when_it_does(pair: HaproxyRig, full: set[str]) -> None:
    first, second = pair.boxes
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    full.add(str(second.folder))
    new = pair.agent()
    await new.take_over(PROJECT, 2, session_of(2))
    for revision, complete in ((2, True), (3, False), (4, True)):
        outcome = await new.apply(batch(service(revision=revision, members=1), epoch=2, complete=complete))
        assert [(one.revision, one.error) for one in outcome.outcomes] == [(revision, "")]
        assert outcome.lagging == (second.host,)
        assert (held(first), held(second)) == ((2, [revision]), (1, [1]))
    full.clear()
    outcome = await new.apply(batch(service(revision=4, members=1), epoch=2, complete=True))
    assert not outcome.lagging and outcome.writes == 1
    assert held(first) == held(second) == (2, [4])


async def test_one_that_takes_the_guard_late_is_not_built_from_one_change(pair: HaproxyRig, full: set[str]) -> None:
    first, second = pair.boxes
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    full.add(str(second.folder))
    new = pair.agent()
    await new.take_over(PROJECT, 2, session_of(2))
    await new.apply(batch(service(), service(2), epoch=2, complete=True))
    full.clear()
    for _ in range(2):
        with pytest.raises(OwnershipGuardLost):
            await new.apply(batch(service(2, revision=2), epoch=2))
        assert held(second) == (2, [1])
    await new.take_over(PROJECT, 2, session_of(2))
    outcome = await new.apply(batch(service(), service(2, revision=2), epoch=2, complete=True))
    assert not outcome.lagging and held(first) == held(second)


async def test_a_newer_owner_there_is_never_taken_for_a_device_that_lags(pair: HaproxyRig, full: set[str]) -> None:
    first, second = pair.boxes
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    full.add(str(second.folder))
    late, newer = pair.agent(), pair.agent()
    await late.take_over(PROJECT, 2, session_of(2))
    full.clear()
    await first.stop()
    await newer.take_over(PROJECT, 3, session_of(3))
    await newer.apply(batch(service(revision=3), epoch=3, complete=True))
    await first.start()
    for complete in (True, False):
        with pytest.raises(StaleOwner) as refusal:
            await late.apply(batch(service(revision=2), epoch=2, complete=complete))
        assert refusal.value.seen_epoch == 3 and held(second) == (3, [3])


async def test_without_one_that_takes_writes_the_reason_is_reported(pair: HaproxyRig, full: set[str]) -> None:
    first, second = pair.boxes
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    full.add(str(second.folder))
    new = pair.agent()
    await new.take_over(PROJECT, 2, session_of(2))
    await first.stop()
    with pytest.raises(DeviceUnavailable):
        await new.apply(batch(service(revision=2), epoch=2, complete=True))
    assert held(second) == (1, [1])
