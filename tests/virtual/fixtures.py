"""Chooses the loop of tests: a folder with tests in virtual time imports both names in its ``conftest.py``.

All tests of :data:`FOLDERS` are in virtual time but those marked ``real_time``: the docstring of their module says why.
In other folders, those marked ``virtual_time`` are.
"""

import asyncio
import os
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import connector

from evenkeel.core.kit import blocking
from evenkeel.devices.bigip import device as bigip_device
from evenkeel.devices.bigip.icontrol.client import IControl
from tests.virtual.clock import loop_time
from tests.virtual.loop import VirtualLoop

__all__ = ["pytest_asyncio_loop_factories", "virtual_time"]
TESTS = Path(__file__).parents[1]
FOLDERS = ("system", "virtual")


def _is_virtual(item: pytest.Item) -> bool:
    if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in FOLDERS:
        return item.get_closest_marker("real_time") is None
    return item.get_closest_marker("virtual_time") is not None


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop that each test runs in."""
    return {"virtual": VirtualLoop} if _is_virtual(item) else {"real": asyncio.new_event_loop}


class DoneAtOnce:
    """A thread pool without threads."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, work: Callable[..., Any], *args: Any) -> "Future[Any]":
        """Done when this returns."""
        future: Future[Any] = Future()
        try:
            future.set_result(work(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_: Any) -> None:
        """Nothing is running."""


@contextmanager
def in_virtual_time(seed: str) -> Iterator[None]:
    """Random numbers and ids are those of the seed, clocks the running loop's, and thread pools have no threads."""
    rng, before = random.Random(seed), random.getstate()
    random.seed(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", rng.randbytes)  # which uuid.uuid4 reads
        patch.setattr(blocking, "ThreadPoolExecutor", DoneAtOnce)
        patch.setattr(connector, "monotonic", loop_time)
        patch.setattr(bigip_device, "IControl", partial(IControl, now=loop_time))
        yield
    random.setstate(before)


@pytest.fixture(autouse=True)
def virtual_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """The seed of a test is its name."""
    if not _is_virtual(request.node):
        yield
        return
    with in_virtual_time(request.node.nodeid):
        yield
