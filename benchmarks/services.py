"""The parts of enhanced services that the benchmark of the data plane uses, and the same lines by hand."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RATE = {"requests": 1_000_000, "interval": 10}
EVERY_PART: dict[str, Any] = {
    "allow": ["127.0.0.0/8"],
    "deny": ["192.0.2.0/24"],
    "connection_limit_per_source": 10_000,
    "rate_limit": RATE,
    "request_headers": {
        "remove": ["X-Powered-By"],
        "set": {"X-Real-IP": "{client_address}", "X-Forwarded-Host": "{host}", "X-Request-Id": "{request_id}"},
    },
    "response_headers": {"remove": ["Server"], "set": {"X-Request-Id": "{request_id}"}},
    "security_headers": "strict",
    "error_pages": {"503": {"body": "<h1>back soon</h1>"}, "429": {"body": "<h1>slower</h1>"}},
    "compression": {},
    "timeouts": {"request": 10, "keep_alive": 60, "tunnel": 3600},
    "member_connection_limit": {"connections": 1000},
}
"""All parts of HAProxy but those that answer every request here; the target of the access log is added."""
_ORIGIN = re.compile(r"(?m)^ *default-path origin (\S+)$")
_BIND = re.compile(r"(?m)^( *bind )\S+:\d+")
_FRONT = """global
    nbthread 1
    localpeer bench
    default-path origin {files}

defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s

peers evenkeel
    bind unix@{socket}
    server bench
"""


def write_definitions(directory: Path, log_port: int) -> None:
    """Write the enhanced services ``every`` and ``limited``."""
    directory.mkdir()
    every = {**EVERY_PART, "access_log": {"target": f"127.0.0.1:{log_port}"}}
    (directory / "services.json").write_text(json.dumps({"every": every, "limited": {"rate_limit": RATE}}))


@contextmanager
def log_server() -> Iterator[int]:
    """Port of a log server that reads nothing: the kernel drops what does not fit."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


def by_hand(partition: Path, address: str, port: int, directory: Path) -> str:
    """A file with the lines of the partition's only load balancer at another address, without what management adds."""
    text = (partition / "conf" / "haproxy.cfg").read_text()
    origin = _ORIGIN.search(text)
    assert origin is not None
    _, _, lines = text.partition("# load balancer ")
    moved = _BIND.sub(rf"\g<1>{address}:{port}", lines.partition("\n")[2])
    return _FRONT.format(files=origin[1], socket=directory / "peer.sock") + moved
