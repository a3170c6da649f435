"""Tests of virtual time run in it."""

from tests.virtual.fixtures import pytest_asyncio_loop_factories, virtual_time

__all__ = ["pytest_asyncio_loop_factories", "virtual_time"]
