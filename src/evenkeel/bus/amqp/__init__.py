"""The bus over RabbitMQ 3.10 or newer: durable quorum queues, publisher confirms, acknowledged after the work.

When a node of a cluster fails, clients reconnect to the next one and declare missing queues and exchanges again. Calls
are answered through RabbitMQ's direct reply-to and expire with their time-out.
"""

from evenkeel.bus.amqp.bus import AmqpBus
from evenkeel.bus.amqp.nodes import Node, parse_nodes

__all__ = ["AmqpBus", "Node", "parse_nodes"]
