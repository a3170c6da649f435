"""A lab for each test; skipped where there can be none."""

from collections.abc import AsyncIterator

import pytest

from tests.haproxyd.layer4 import lab as labs
from tests.haproxyd.layer4.lab import Lab


@pytest.fixture(scope="session")
def possible() -> None:
    if reason := labs.obstacle():
        pytest.skip(reason)


@pytest.fixture
async def lab(possible: None) -> AsyncIterator[Lab]:
    async with labs.lab() as made:
        yield made
