"""Even Keel: load balancing as a service that does not go down with a host."""

__version__ = "0.1.0"
