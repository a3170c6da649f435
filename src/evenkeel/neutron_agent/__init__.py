"""Registers an agent with Neutron: Neutron lists it, hosts build tunnels to its devices, and it receives forwarding
entries.

The package uses Neutron's RPC over Neutron's message bus, by oslo.messaging (the extra ``neutron-agent``); it is
imported only if that is configured. All calls block in one dedicated thread, and nothing that serves load balancers
waits for it.

Messages from Neutron are hints only: agents pass the ids of networks on to controllers, which read Neutron's API.
"""
