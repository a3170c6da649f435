"""Several controllers on one listening socket: a parent starts and restarts them, forwards signals, and serves all
metrics.

Each worker is a controller like any other for the message bus and the database; the label ``worker`` of its metrics
distinguishes it. All accept from the same socket: a worker that is busy or gone takes no connections, and no connection
waits for it.
"""
