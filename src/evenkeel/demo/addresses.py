"""Selects the demo's VIP, an address of 127.0.0.0/8 that can be bound, and free ports."""

import random
import socket
from dataclasses import dataclass

CANDIDATE_PORTS = range(15_000, 32_000)
"""Ports from which the demo chooses. They are below Linux's ephemeral range, so that no outgoing connection takes a
port between check and use.
"""
PORT_ATTEMPTS = 200


@dataclass(frozen=True, kw_only=True)
class VipAddress:
    """Subnet, VIP and listener ports of the demo's load balancer. ``https_port`` 0: no HTTPS listener."""

    cidr: str
    address: str
    port: int
    https_port: int = 0

    @property
    def second_address(self) -> str | None:
        """Another address of the subnet for a second load balancer; None where only 127.0.0.1 can be bound."""
        network, _, last = self.address.rpartition(".")
        return None if self.address == "127.0.0.1" else f"{network}.{int(last) + 1}"

    @property
    def url(self) -> str:
        """URL of the website's HTTP listener."""
        return f"http://{self.address}:{self.port}/"

    @property
    def https_url(self) -> str:
        """URL of the website's HTTPS listener."""
        return f"https://{self.address}:{self.https_port}/"


def choose_vip_address(rng: random.Random) -> VipAddress:
    """Choose a random address of 127.0.0.0/8 that can be bound, or else 127.0.0.1, with two free ports.

    Raises :class:`OSError` if nothing is free.
    """
    third = rng.randint(1, 250)
    candidates = [(f"127.0.{third}.0/24", f"127.0.{third}.10"), ("127.0.0.0/24", "127.0.0.1")]
    for cidr, address in candidates:
        for _ in range(PORT_ATTEMPTS):
            port, https_port = rng.sample(CANDIDATE_PORTS, 2)
            if is_free(address, port) and is_free(address, https_port):
                return VipAddress(cidr=cidr, address=address, port=port, https_port=https_port)
    raise OSError("no loopback address has a free port")


def free_port(rng: random.Random) -> int:
    """Choose a random free port of 127.0.0.1. Raises :class:`OSError` if none of 200 is free."""
    for port in rng.sample(CANDIDATE_PORTS, PORT_ATTEMPTS):
        if is_free("127.0.0.1", port):
            return port
    raise OSError("127.0.0.1 has no free port")


def is_free(address: str, port: int) -> bool:
    """Whether the address and port can be bound now."""
    with socket.socket() as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
