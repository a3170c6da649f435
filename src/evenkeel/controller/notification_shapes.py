"""Notifications in the shapes of OpenStack's services. Pure.

``octavia``: events of Octavia 19's amphora provider (``octavia/controller/worker/v2/tasks/notification_tasks.py``; the
payload is octavia-lib's load balancer without lists), which Ceilometer 27 reads (``octavia.loadbalancer.*`` in its
``event_definitions.yaml``). ``neutron``: events of a Neutron with LBaaS v2 (``neutron/pecan_wsgi/hooks/notifier.py`` of
Neutron 29, and the visible attributes in ``neutron_lbaas/extensions/loadbalancerv2.py`` of neutron-lbaas 14).
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from evenkeel.core.control.notifications import Notification, PendingNotification
from evenkeel.core.status.lifecycle import LifecycleEvent

OCTAVIA, NEUTRON = "octavia", "neutron"
SHAPES = (OCTAVIA, NEUTRON)
_ID_NAMESPACE = uuid.UUID("6f7ab2f5-6b0e-4c55-9d3b-51f6f2c1b0a7")
"""Namespace of message ids: any constant."""


def build_notification(entry: PendingNotification, shape: str, host: str) -> Notification:
    """Build the notification of an outbox entry. ``shape``: one of :data:`SHAPES`; ``host``: host name in
    Neutron's publisher id.
    """
    return _BUILDERS[shape](entry, host)


def _octavia_notification(entry: PendingNotification, _host: str) -> Notification:
    payload: dict[str, Any] = {
        "loadbalancer_id": entry.load_balancer_id,
        "project_id": entry.project_id,
        "name": entry.name,
        "description": entry.description,
        "admin_state_up": entry.admin_state_up,
        "availability_zone": entry.availability_zone,
        "vip_address": entry.vip_address,
        "vip_network_id": entry.vip_network_id,
        "vip_port_id": entry.vip_port_id,
        "vip_subnet_id": entry.vip_subnet_id,
        "vip_qos_policy_id": entry.vip_qos_policy_id,
    }
    if entry.flavor is not None:
        payload["flavor"] = entry.flavor
    message_id = _message_id(entry, OCTAVIA)
    return Notification(
        exchange=OCTAVIA,
        message_id=message_id,
        publisher_id=None,  # as Octavia's, which names none
        event_type=f"octavia.loadbalancer.{entry.event.value}.end",
        timestamp=_format_timestamp(entry.at),
        payload=payload,
        context=_request_context(entry.project_id, message_id),
    )


def _neutron_notification(entry: PendingNotification, host: str) -> Notification:
    view: dict[str, Any] = {
        "id": entry.load_balancer_id,
        "tenant_id": entry.project_id,
        "name": entry.name,
        "description": entry.description,
        "vip_subnet_id": entry.vip_subnet_id,
        "vip_address": entry.vip_address,
        "vip_port_id": entry.vip_port_id,
        "admin_state_up": entry.admin_state_up,
        "provider": entry.provider,
        "provisioning_status": entry.provisioning_status,
        "operating_status": entry.operating_status,
        "listeners": [{"id": id_} for id_ in entry.listener_ids],
        "pools": [{"id": id_} for id_ in entry.pool_ids],
    }
    if entry.flavor_id is not None:
        view["flavor_id"] = entry.flavor_id
    payload: dict[str, Any] = {"loadbalancer": view}
    if entry.event is LifecycleEvent.DELETE:
        payload["loadbalancer_id"] = entry.load_balancer_id
    message_id = _message_id(entry, NEUTRON)
    # `tenant_id` and `user_id`: Ceilometer's names for events of Neutron up to its release 10
    more = {"tenant_id": entry.project_id, "user_id": None}
    return Notification(
        exchange=NEUTRON,
        message_id=message_id,
        publisher_id=f"network.{host}",
        event_type=f"loadbalancer.{entry.event.value}.end",
        timestamp=_format_timestamp(entry.at),
        payload=payload,
        context=_request_context(entry.project_id, message_id) | more,
    )


_BUILDERS: Mapping[str, Callable[[PendingNotification, str], Notification]] = {
    OCTAVIA: _octavia_notification,
    NEUTRON: _neutron_notification,
}


def _message_id(entry: PendingNotification, shape: str) -> str:
    """Return the id of the entry's message, which is the same in each repetition by any controller."""
    # The time as well, because a database that was restored or replaced counts its entries anew.
    return str(
        uuid.uuid5(_ID_NAMESPACE, f"{shape}/{entry.id}/{entry.load_balancer_id}/{entry.event.value}/{entry.at!r}")
    )


def _format_timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def _request_context(project_id: str, message_id: str) -> dict[str, Any]:
    """Return a serialized request context of oslo.context with a project and no user."""
    return {
        "user": None,
        "project": project_id,
        "project_id": project_id,
        "domain": None,
        "user_domain": None,
        "project_domain": None,
        "system_scope": None,
        "is_admin": False,
        "is_admin_project": True,
        "read_only": False,
        "show_deleted": False,
        "auth_token": None,
        "request_id": f"req-{message_id}",
        "global_request_id": None,
        "resource_uuid": None,
        "roles": [],
        "user_identity": f"- {project_id} - - -",
    }
