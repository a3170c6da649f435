"""Switching imported load balancers over from Octavia's amphorae to our devices, and back.

An amphora is silenced by Neutron's port security: the VIP is taken from the allowed address pairs of its port, so that
Neutron drops what it sends from that address. The amphora itself is not touched: the pair alone is the way back.
"""
