"""The options of ``[notifications]``, and opening their sender."""

import socket
import uuid
from typing import TYPE_CHECKING

from oslo_config import cfg, types

from evenkeel.bus.factory import AMQP
from evenkeel.controller.notification_shapes import SHAPES
from evenkeel.controller.settings import NotificationSettings

if TYPE_CHECKING:
    from evenkeel.bus.amqp.notifications import AmqpNotifications

NOTIFICATIONS_SECTION = "notifications"

NOTIFICATION_OPTIONS = [
    cfg.ListOpt(
        "shapes",
        default=[],
        item_type=types.String(choices=list(SHAPES)),
        help="Shapes in which events of load balancers are sent for billing and monitoring: octavia, neutron (for "
        "LBaaS v2), or both. Empty: no notifications. The same on all controllers. See "
        "how-to/send-notifications.md.",
    ),
    cfg.StrOpt(
        "transport_url",
        default="",
        secret=True,
        help="RabbitMQ from which the consumers read, as their own transport_url: rabbit://user:password@host:5672/. "
        "Empty: the controllers' message bus, which then has to be RabbitMQ.",
    ),
    cfg.ListOpt(
        "topics",
        default=["notifications"],
        item_type=types.String(regex=r"^[A-Za-z0-9_.-]{1,200}$"),
        help="Topics, as the consumers' option topics in [oslo_messaging_notifications]; each gets every notification.",
    ),
    cfg.BoolOpt(
        "quorum_queues",
        default=False,
        help="The consumers have rabbit_quorum_queue = true: queues that do not exist yet become quorum queues.",
    ),
    cfg.IntOpt(
        "waiting_max",
        default=100_000,
        min=1_000,
        max=10_000_000,
        help="Unsent events kept in the database while the broker is away, about 1 kB each; above it the oldest are "
        "dropped, with an error in the log.",
    ),
]


def notifications_enabled(conf: cfg.ConfigOpts) -> bool:
    return bool(conf.notifications.shapes)


def notification_settings(conf: cfg.ConfigOpts) -> NotificationSettings:
    """Build the settings of the notifications from the options."""
    return NotificationSettings(
        shapes=tuple(dict.fromkeys(conf.notifications.shapes)),
        host=socket.gethostname(),
        waiting_max=conf.notifications.waiting_max,
    )


def open_notifications(conf: cfg.ConfigOpts) -> "AmqpNotifications | None":
    """Open the notifications' sender, which connects on first use; None if they are off. Raises
    :class:`ValueError` for a ``transport_url`` that is not RabbitMQ's, or without topics.
    """
    if not notifications_enabled(conf):
        return None
    from evenkeel.bus.amqp.nodes import parse_nodes  # only with notifications, as the client library it brings
    from evenkeel.bus.amqp.notifications import AmqpNotifications

    given = conf.notifications.transport_url
    url = given or conf.transport_url
    if not url.startswith(tuple(f"{scheme}://" for scheme in AMQP)):
        where = "" if given else ", and [DEFAULT] transport_url, which is used without one, is not"
        raise ValueError(
            f"{NOTIFICATIONS_SECTION}.transport_url: has to be rabbit://user:password@host:port/vhost{where}"
        )
    topics = tuple(dict.fromkeys(conf.notifications.topics))
    if not topics:
        raise ValueError(f"{NOTIFICATIONS_SECTION}.topics: one at least is needed")
    try:
        nodes = parse_nodes(url)
    except ValueError as error:
        raise ValueError(f"{NOTIFICATIONS_SECTION}.{error}" if given else str(error)) from error
    name = f"notifications-{uuid.uuid4().hex[:8]}"
    return AmqpNotifications(nodes, name=name, topics=topics, quorum=conf.notifications.quorum_queues)
