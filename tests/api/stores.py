"""Stores for the API in-process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evenkeel.core.control import Environment
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store
from tests.api.subnet import SUBNET


@asynccontextmanager
async def started_store(directory: Path, **options: Any) -> AsyncIterator[SqlStore]:
    """A started store with one environment and one subnet. ``options``: those of :class:`StoreOptions`."""
    opened = open_store(f"sqlite:///{directory / 'evenkeel.db'}", StoreOptions(**options))
    try:
        await opened.start()
        await opened.operators.add_environment(Environment(name="dev", device_driver="noop"))
        await opened.operators.add_subnet(SUBNET)
        yield opened
    finally:
        await opened.close()
