"""Tests start servers in their event loop by :class:`tests.listening.StreamServer`, or end their connections."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
END_THEIR_CONNECTIONS = {
    "acceptance/history/wire.py",
    "devices/bigip/wire.py",
    "devices/service_behaviour.py",  # its members answer once; a member that stops finishes its answers
    "haproxyd/layer4/test_connections.py",
    "virtual/test_tcp.py",  # tests the virtual loop's servers
}


def test_servers_of_tests_leave_no_connection_open() -> None:
    calls = re.compile(r"asyncio\.start_(unix_)?server\(")
    found = {str(file.relative_to(TESTS)) for file in TESTS.rglob("*.py") if calls.search(file.read_text())}
    assert found == {"listening.py", *END_THEIR_CONNECTIONS}
