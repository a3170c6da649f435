"""VIPs from Neutron: a port for each, made and removed with the load balancer.

The only part of the product that needs ``openstacksdk`` (the extra ``neutron``); nothing here is imported unless
Neutron is configured. The SDK blocks, so its calls run in a bounded pool of threads with a time-out (:mod:`calls`).

Promised: a port is never made before there is a claim in the database that finds it again, so none is left behind by a
create that failed or a controller that died. No port is ever removed that such a claim does not name: other services,
and other installations of this one, mark ports with the same owner.
"""
