"""The values that requests may hold in attributes with a fixed set of them, as far as they are built."""

from typing import Literal

from evenkeel.api.bodies import Request
from evenkeel.core.model import (
    HealthMonitorType,
    LbAlgorithm,
    ListenerProtocol,
    PersistenceType,
    PoolProtocol,
)

NoClientAuthentication = Literal["NONE"]
Switch = Literal["true", "false"]


class InsertHeaders(Request, rename={"x_for": "X-Forwarded-For", "x_port": "X-Forwarded-Port", "x_proto": "X-Forwarded-Proto"}):
    """Headers the load balancer adds to requests for members."""

    x_for: Switch | None = None
    x_port: Switch | None = None
    x_proto: Switch | None = None

    def as_dict(self) -> dict[str, str]:
        """The headers by name, those not given left out."""
        named = {"X-Forwarded-For": self.x_for, "X-Forwarded-Port": self.x_port, "X-Forwarded-Proto": self.x_proto}
        return {name: value for name, value in named.items() if value is not None}


__all__ = [
    "HealthMonitorType",
    "InsertHeaders",
    "LbAlgorithm",
    "ListenerProtocol",
    "NoClientAuthentication",
    "PersistenceType",
    "PoolProtocol",
]
