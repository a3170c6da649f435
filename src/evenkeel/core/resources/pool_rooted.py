"""Pool-rooted objects of LBaaS v1, and their mapping onto the model of the other APIs:

* a pool is a pool in a load balancer made for it, which has no VIP at first;
* a vip is a listener of that load balancer, with the same id, and brings the VIP;
* a member is a member;
* a health monitor exists independently of pools, and as a health monitor in each pool that it is associated with. A
  monitor made in a pool through another API can be associated with that pool only.

So LBaaS v1 shows each listener with a default pool as a vip, and each pool as a pool, whichever API made them.
"""

from typing import Literal

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, Pool
from evenkeel.core.resources.statuses import ProvisioningStatus

SharedMonitorType = Literal["PING", "TCP", "HTTP", "HTTPS"]

MONITOR_ATTRIBUTES = (
    *("type", "delay", "timeout", "max_retries"),
    *("http_method", "url_path", "expected_codes", "admin_state_up"),
)
"""Attributes that the copy of a shared monitor in a pool takes from it."""
POOLS_OF_MONITOR_MAX = 200
"""Maximum number of pools with one shared monitor, because one transaction changes the monitor in all of them."""


class MonitorUse(Value):
    """A pool with which a health monitor is associated, and the monitor's status in that pool."""

    pool_id: str
    provisioning_status: ProvisioningStatus


class SharedMonitor(Value):
    """A health monitor of LBaaS v1, which up to :data:`POOLS_OF_MONITOR_MAX` pools may share. ``delay``,
    ``timeout``: seconds; ``created_at``, ``updated_at``: seconds since 1970. ``uses``: the pools with the
    monitor.
    """

    id: str
    project_id: ProjectId
    type: str
    delay: int
    timeout: int
    max_retries: int
    http_method: str | None = None
    url_path: str | None = None
    expected_codes: str | None = None
    admin_state_up: bool = True
    created_at: float = 0.0
    updated_at: float | None = None
    in_pool: bool = False
    """True: the monitor was made in its pool through another API, and cannot be associated with other pools."""
    uses: tuple[MonitorUse, ...] = ()


class LbaasV1Vip(Value):
    """A vip of LBaaS v1: the listener, the load balancer that has the VIP, and the pool to which the listener sends."""

    listener: Listener
    load_balancer: LoadBalancer
    pool: Pool

    @property
    def id(self) -> str:
        """Key after which the next page of a list continues: the listener's id."""
        return self.listener.id


class LbaasV1Pool(Value):
    """A pool with its load balancer and monitor, in the form of LBaaS v1."""

    pool: Pool
    load_balancer: LoadBalancer
    monitor: HealthMonitor | None = None
    """The pool's health monitor that is not marked deleted; None if there is none."""

    @property
    def id(self) -> str:
        """Key after which the next page of a list continues: the pool's id."""
        return self.pool.id
