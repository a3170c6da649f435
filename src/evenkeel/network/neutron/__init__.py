"""VIPs from Neutron: a port for each, created and deleted with the load balancer.

Needs ``openstacksdk`` (the extra ``neutron``); imported only if Neutron is configured. The SDK blocks, so its calls run
in a bounded pool of threads with a time-out (:mod:`threads`).

Guarantees: a port is never created before a claim in the database from which it can be found, so failed creates and
crashed controllers leave no ports behind. Only ports that such a claim names are deleted: other services, and other
installations of this one, mark ports with the same owner.
"""
