"""Which bus a transport URL gives, and that no error shows its password."""

from pathlib import Path

import pytest

from evenkeel.bus.amqp import AmqpBus
from evenkeel.bus.embedded import EmbeddedBus
from evenkeel.bus.factory import open_bus
from evenkeel.bus.memory import MemoryBus


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory://", MemoryBus),
        ("embedded:///var/lib/evenkeel/bus.db", EmbeddedBus),
        ("amqp://u:p@h", AmqpBus),
        ("amqps://u:p@h1,h2:5673/v", AmqpBus),
        ("rabbit://u:p@h1:5672,u:p@h2:5672/", AmqpBus),
    ],
)
def test_the_scheme_chooses_the_transport(url: str, kind: type) -> None:
    assert isinstance(open_bus(url, name="test"), kind)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "bus.db",
        "redis://u:s3cret@h",
        "embedded://relative/bus.db",
        "embedded:///directory/",
        "amqp://",
        "amqp://u:s3cret@:5672/",
        "amqp://u:s3cret@h:port/",
        "amqp://u:s3cret@h:70000/",
        "amqp://u:s3cret@h/v?verify=no",
        "amqp://u:s3cret@h/v?ssl_ca_file=/ca.pem",
        "amqp://u:s3cret@h/v?ssl_verify=no",
        "amqps://u:s3cret@h/v?ssl_verify=false",
        "amqps://u:s3cret@h/v?ssl_ca_file=/no/such/file.pem",
    ],
)
def test_anything_else_is_a_clear_error_without_the_password(url: str) -> None:
    with pytest.raises(ValueError, match="transport_url") as failure:
        open_bus(url, name="test")
    assert "s3cret" not in str(failure.value)


async def test_memory_buses_of_one_name_share_queues_and_of_others_do_not() -> None:
    first, second, other = (open_bus(f"memory://{name}", name="t") for name in ("a", "a", "b"))
    assert isinstance(first, MemoryBus)
    assert isinstance(second, MemoryBus)
    assert isinstance(other, MemoryBus)
    assert first.hub is second.hub
    assert first.hub is not other.hub


async def test_the_queue_file_is_for_its_owner_only(tmp_path: Path) -> None:
    bus = open_bus(f"embedded://{tmp_path}/bus.db", name="test")
    await bus.start()
    assert (tmp_path / "bus.db").stat().st_mode & 0o777 == 0o600
    await bus.close()
