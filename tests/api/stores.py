"""Stores for the API in-process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evenkeel.core.control.environments import Environment
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import SqlStore, open_store
from tests.api.subnet import SUBNET

FILE_NAME = "evenkeel.db"

_migrated: list[bytes] = []
"""A database file with all tables, once this process has made one: migrating takes longer than most tests."""


async def new_file(directory: Path) -> Path:
    """A database file of the test's own, with all tables."""
    path = directory / FILE_NAME
    if not _migrated:
        opened = open_store(f"sqlite:///{directory / 'template.db'}")
        await opened.start()
        await opened.close()
        _migrated.append((directory / "template.db").read_bytes())
    path.touch(mode=0o600)
    path.write_bytes(_migrated[0])
    return path


@asynccontextmanager
async def started_store(directory: Path, **options: Any) -> AsyncIterator[SqlStore]:
    """A started store with one environment and one subnet. ``options``: those of :class:`StoreOptions`."""
    opened = open_store(f"sqlite:///{await new_file(directory)}", StoreOptions(**options))
    try:
        await opened.start()
        await opened.operators.add_environment(Environment(name="dev", device_driver="noop"))
        await opened.operators.add_subnet(SUBNET)
        yield opened
    finally:
        await opened.close()
