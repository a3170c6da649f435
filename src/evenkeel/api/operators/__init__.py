"""The operators' API: agents, environments, shards, load balancers of all projects, moves, certificates,
networks, events and the system's status; also imports, and mirrors of another system's load balancers.
"""
