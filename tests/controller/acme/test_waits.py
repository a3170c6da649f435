"""Waiting for certificates ends on every controller with a key manager, one without an authority, too."""

from pathlib import Path
from typing import Any, cast

import pytest

from evenkeel.bus.memory import MemoryBus, MemoryHub
from evenkeel.controller.acme import AwaitedCertificates
from evenkeel.controller.acme.waits import AWAITED_SECONDS, WAITS_PER_LOOK
from evenkeel.controller.service import Controller
from evenkeel.core.ports import AcmeStore, KeyManager
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import open_store
from tests.api.stores import new_file
from tests.controller.test_service import QUICK, QuickClock
from tests.waiting import eventually


class Store:
    """Takes note of what is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, int]] = []

    async def end_overdue_waits(self, *, awaited_seconds: float, limit: int) -> int:
        self.asked.append((awaited_seconds, limit))
        return 1


async def test_listeners_wait_for_an_hour() -> None:
    store = Store()
    await AwaitedCertificates(cast(AcmeStore, store)).end_overdue()
    assert store.asked == [(AWAITED_SECONDS, WAITS_PER_LOOK)] and AWAITED_SECONDS == 3600.0


async def test_a_controller_without_an_authority_ends_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = open_store(f"sqlite:///{await new_file(tmp_path)}", StoreOptions())
    await store.start()
    asked = Store()
    monkeypatch.setattr(store.acme, "end_overdue_waits", asked.end_overdue_waits)
    controller = Controller(
        store=store,
        bus=MemoryBus(MemoryHub(), name="c"),
        clock=QuickClock(),
        settings=QUICK,
        key_manager=cast(KeyManager, object()),  # nothing is read: there are no references
        acme=None,
    )
    try:
        await controller.start()
        await eventually(lambda: bool(asked.asked))
    finally:
        await controller.stop()
        await store.close()
