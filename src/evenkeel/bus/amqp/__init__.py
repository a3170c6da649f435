"""The bus over RabbitMQ 3.10 or newer: durable quorum queues, publisher confirms, acknowledged after the work.

Whatever node of a cluster dies, clients go on with the next one, and whatever is found missing there (even all of it)
is declared again. Calls are answered through RabbitMQ's direct reply-to and expire with their time-out.
"""

from evenkeel.bus.amqp.bus import AmqpBus
from evenkeel.bus.amqp.nodes import Node, parse_nodes

__all__ = ["AmqpBus", "Node", "parse_nodes"]
