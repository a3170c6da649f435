"""What differs from run to run is not in a recorded answer."""

import httpx

from tests.compat.replay import Replay
from tests.compat.table import Line

ERROR = "(sqlite3.IntegrityError) NOT NULL constraint failed: pool.tls_enabled"
STATEMENT = (
    "\n[SQL: UPDATE pool SET updated_at=?]\n[parameters: ('2026-11-25 03:40:25.579697')]\n(Background: https://x)"
)


async def _recorded(text: str) -> object:
    transport = httpx.MockTransport(lambda request: httpx.Response(500, json={"faultstring": text}))
    async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
        return (await Replay(client, {"member": {}}, {}).answer(Line("a story", "GET", "/"))).body


async def test_a_database_error_ends_before_its_statement() -> None:
    assert await _recorded(ERROR + STATEMENT) == {"faultstring": ERROR}


async def test_times_within_a_text_are_left_out() -> None:
    assert await _recorded("expired at 2026-11-25T03:40:25Z") == {"faultstring": "expired at {time}"}
