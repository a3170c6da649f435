"""The prober on a listener that ends and comes back."""

import socket
import time
from collections.abc import Iterator

import pytest

from evenkeel.cli.moving_in.switching.prober import ConnectionProber


def listener(port: int = 0) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(1000)
    return made


@pytest.fixture
def first() -> Iterator[socket.socket]:
    with listener() as made:
        yield made


def test_interval_without_a_connection_is_measured(first: socket.socket) -> None:
    port = first.getsockname()[1]
    prober = ConnectionProber("127.0.0.1", port)
    prober.start()
    assert prober.wait_for_success(0.0, 30.0)
    first.close()
    assert prober.wait_for_silence(time.monotonic(), 30.0)
    silent = time.monotonic()
    with listener(port):
        again = time.monotonic()
        assert prober.wait_for_success(again, 30.0)
        gap = prober.stop()
    assert gap.failed > 0 and gap.attempts > gap.failed
    assert gap.longest_seconds >= again - silent
    assert f"{gap.failed} of {gap.attempts} attempts failed" in str(gap)


def test_a_vip_that_never_answers_has_no_success() -> None:
    with listener() as taken:
        port = taken.getsockname()[1]
    prober = ConnectionProber("127.0.0.1", port)
    prober.start()
    assert prober.wait_for_silence(0.0, 30.0)
    assert not prober.wait_for_success(0.0, 0.0)
    gap = prober.stop()
    assert gap.attempts == gap.failed > 0
