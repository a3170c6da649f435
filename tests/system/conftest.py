"""Tests of whole systems run in virtual time, but for those marked ``real_time``."""

import pytest

from tests.virtual.fixtures import pytest_asyncio_loop_factories, virtual_time

__all__ = ["pytest_asyncio_loop_factories", "virtual_time"]

pytest.register_assert_rewrite(*(f"tests.system.bigip_features.{name}" for name in ("l7", "services", "tls")))
