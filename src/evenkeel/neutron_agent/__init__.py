"""An agent as one of Neutron's: it is in Neutron's list of agents, has hosts build tunnels to the devices, and hears
where ports are.

It speaks Neutron's RPC over Neutron's message bus, by oslo.messaging (the extra ``neutron-agent``); imported only if
that is configured. Everything blocks, in one thread of its own, and nothing that serves load balancers waits for it.

What Neutron says here is a hint: agents pass the ids of networks on to controllers, which read Neutron's API.
"""
