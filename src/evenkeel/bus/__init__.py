"""Messages between processes: versioned envelopes over an in-process, an embedded or a RabbitMQ transport.

All transports keep the same promises (:mod:`evenkeel.core.ports`, tested by one contract): at-least-once delivery to
competing consumers, acknowledgement after the work, bounded redelivery, bounded sizes. None promises an order.
"""

from evenkeel.bus.factory import open_bus

__all__ = ["open_bus"]
