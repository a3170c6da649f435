"""Adapters of the ``Network`` port, which allocates the addresses of VIPs."""
