"""Several controllers on one listening socket: a parent starts them, starts those again that end, forwards signals, and
serves the metrics of all. Each worker is a controller like any other: to the message bus, to the database and to
Prometheus, whose label ``worker`` tells them apart.

All accept from the same socket: a worker that is busy or gone takes no connections, and none waits for it.
"""
