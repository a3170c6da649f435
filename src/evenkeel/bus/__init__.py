"""Messages between processes: versioned envelopes over an in-process, an embedded or a RabbitMQ transport.

All transports give the same guarantees (:mod:`evenkeel.core.ports`, tested by one contract): at-least-once delivery to
competing consumers, acknowledgement after the work, bounded redelivery, bounded sizes. None guarantees an order.
"""

from evenkeel.bus.factory import open_bus

__all__ = ["open_bus"]
