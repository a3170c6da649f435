"""Persistent state of the daemon. What the daemon has confirmed to agents survives a power failure."""
