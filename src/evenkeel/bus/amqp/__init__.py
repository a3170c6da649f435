"""The bus over RabbitMQ 3.10 or newer uses durable quorum queues and publisher confirms, and acknowledges a
message after the work.

The exceptions may get lost: keepalives, in classic queues without confirms and acknowledgements, and replies
to calls, which come through RabbitMQ's direct reply-to without a confirm. Calls expire with their time-out.
When a node of a cluster fails, clients reconnect to the next one and declare missing queues and exchanges
again.
"""

from evenkeel.bus.amqp.bus import AmqpBus
from evenkeel.bus.amqp.nodes import Node, parse_nodes

__all__ = ["AmqpBus", "Node", "parse_nodes"]
