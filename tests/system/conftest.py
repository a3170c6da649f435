"""Tests of whole systems run in virtual time, but for those marked ``real_time``."""

from tests.virtual.fixtures import pytest_asyncio_loop_factories, virtual_time

__all__ = ["pytest_asyncio_loop_factories", "virtual_time"]
