"""Switching imported load balancers over from Octavia's amphorae to Even Keel's devices, and back.

An amphora is silenced by Neutron's port security: the VIP is taken from the allowed address pairs of its
port, so that Neutron drops packets that the amphora sends from that address. The amphora itself is not
touched: the pair alone is the way back.
"""
