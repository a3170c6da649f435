"""Messages between processes: versioned envelopes over an in-process, an embedded or a RabbitMQ transport.

The transports give the same guarantees (:mod:`evenkeel.core.ports`, tested by one contract): at-least-once
delivery to competing consumers, acknowledgement after the work, bounded redelivery, bounded sizes. Only
keepalives and replies may get lost over RabbitMQ (:mod:`evenkeel.bus.amqp`). None guarantees an order.
"""

from evenkeel.bus.factory import open_bus

__all__ = ["open_bus"]
