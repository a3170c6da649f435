"""The tenant of the demo: uses only openstacksdk and the Octavia API. All calls block, and raise
openstacksdk's ``SDKException``.
"""

from collections.abc import Sequence
from typing import Any

import openstack

WAIT_SECONDS = 60
POLL_SECONDS = 0.2


class Tenant:
    """A user of the Octavia API at ``url``. Several may share one load balancer through different
    controllers.

    ``project_id`` is sent with each request, to an Octavia without Keystone; empty: none is sent.
    """

    def __init__(self, url: str, project_id: str = "") -> None:
        # the caller's own cloud settings must not apply
        self._connection = openstack.connect(
            load_yaml_config=False, load_envvars=False, auth_type="none", auth={"endpoint": url}
        )
        if project_id:
            self._connection.session.additional_headers["X-Project-Id"] = project_id
        self._api = self._connection.load_balancer

    def load_api(self) -> None:
        """Load openstacksdk's modules and read the API's versions now, which takes seconds on a busy machine."""
        list(self._api.load_balancers(name="none"))

    def create_website(
        self, *, name: str, provider: str, subnet_id: str, address: str | None, port: int, backends: Sequence[int]
    ) -> Any:
        """Create load balancer, listener, pool, health monitor and members in one request; returns the load
        balancer, before it is ACTIVE. ``backends``: ports of 127.0.0.1, one for each member. ``address``
        None: the API chooses the VIP.
        """
        members = [_member_body(number, backend) for number, backend in enumerate(backends, 1)]
        monitor = {"type": "HTTP", "delay": 2, "timeout": 1, "max_retries": 2, "url_path": "/"}
        pool = {
            "name": f"{name}-pool",
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "healthmonitor": monitor,
            "members": members,
        }
        listener = {"name": f"{name}-http", "protocol": "HTTP", "protocol_port": port, "default_pool": pool}
        vip = {"vip_address": address} if address else {}
        return self._api.create_load_balancer(
            name=name, provider=provider, vip_subnet_id=subnet_id, listeners=[listener], **vip
        )

    def add_https(self, load_balancer_id: str, *, name: str, port: int, reference: str) -> Any:
        """Add a listener that terminates TLS with the certificate ``reference``, in front of the same pool;
        returns the listener.
        """
        return self._api.create_listener(
            name=f"{name}-https",
            load_balancer_id=load_balancer_id,
            protocol="TERMINATED_HTTPS",
            protocol_port=port,
            default_tls_container_ref=reference,
            default_pool_id=self._only_pool(load_balancer_id).id,
        )

    def wait_until_active(self, load_balancer_id: str) -> Any:
        """Wait until the load balancer is ACTIVE, and return it. Raises openstacksdk's ``ResourceFailure``
        for ERROR, and ``ResourceTimeout`` after 60 s.
        """
        load_balancer = self._api.get_load_balancer(load_balancer_id)
        return self._wait_for_active(load_balancer)

    def add_member(self, load_balancer_id: str, number: int, backend: int) -> Any:
        """Add a member at port ``backend`` of 127.0.0.1 to the load balancer's only pool, and return it."""
        return self._api.create_member(self._only_pool(load_balancer_id), **_member_body(number, backend))

    def set_weight(self, load_balancer_id: str, weight: int) -> Any:
        """Change the weight of the member whose name sorts first in the load balancer's only pool, and return
        the member.
        """
        pool = self._only_pool(load_balancer_id)
        member = min(self._api.members(pool), key=lambda item: str(item.name))
        return self._api.update_member(member, pool, weight=weight)

    def wait_for_member(self, load_balancer_id: str, member: Any) -> Any:
        """Wait until a member is ACTIVE, and return it. Raises openstacksdk's ``ResourceFailure`` for ERROR,
        and ``ResourceTimeout`` after 60 s.
        """
        return self._wait_for_active(self._api.get_member(member.id, self._only_pool(load_balancer_id)))

    def _wait_for_active(self, resource: Any) -> Any:
        return self._api.wait_for_status(
            resource, "ACTIVE", ["ERROR"], POLL_SECONDS, WAIT_SECONDS, attribute="provisioning_status"
        )

    def objects(self, load_balancer_id: str) -> list[dict[str, Any]]:
        """Return the load balancer, its listeners, pool, members and health monitor, each as ``id``, ``name``
        and ``provisioning_status``.
        """
        found: list[Any] = [self._api.get_load_balancer(load_balancer_id)]
        found += self._api.listeners(load_balancer_id=load_balancer_id)
        pool = self._only_pool(load_balancer_id)
        found += [pool, *self._api.members(pool), *self._api.health_monitors(pool_id=pool.id)]
        return [{key: item[key] for key in ("id", "name", "provisioning_status")} for item in found]

    def member_addresses(self, load_balancer_id: str) -> set[str]:
        """Return ``address:port`` of all members of the load balancer's pool."""
        members = self._api.members(self._only_pool(load_balancer_id))
        return {f"{item.address}:{item.protocol_port}" for item in members}

    def delete(self, load_balancer_id: str) -> None:
        """Delete a load balancer with all its objects."""
        self._api.delete_load_balancer(load_balancer_id, cascade=True)

    def exists(self, load_balancer_id: str) -> bool:
        """Whether the API has the load balancer."""
        return self._api.find_load_balancer(load_balancer_id) is not None

    def _only_pool(self, load_balancer_id: str) -> Any:
        return next(iter(self._api.pools(loadbalancer_id=load_balancer_id)))

    def close(self) -> None:
        self._connection.close()


def _member_body(number: int, port: int) -> dict[str, Any]:
    return {"name": f"backend-{number}", "address": "127.0.0.1", "protocol_port": port}
