"""What a bus says that cannot start."""

import pytest

from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.ports import Bus
from tests.waiting import eventually


async def why_not_started(bus: Bus, words: str) -> str:
    """The error, once it holds the words: a start may be over before the broker has answered at all."""

    async def told() -> str:
        with pytest.raises(BusUnavailable) as failure:
            await bus.start()
        return str(failure.value) if words.lower() in str(failure.value).lower() else ""

    return await eventually(told)
