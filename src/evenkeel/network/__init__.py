"""Allocation of VIPs: adapters of the ``Network`` port."""
