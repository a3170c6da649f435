"""Types of ids, so that swapped arguments are a type error. At run time and in messages each is a plain string. Ids get
their types where they enter the process: in request paths, generators of ids, rows, and the decoder of messages.
"""

from typing import NewType

AgentId = NewType("AgentId", str)
"""The configured, stable id of an agent."""

LoadBalancerId = NewType("LoadBalancerId", str)
"""The UUID of a load balancer."""

ProjectId = NewType("ProjectId", str)
"""The id of a tenant's project."""

SessionId = NewType("SessionId", str)
"""Random id of one session of an agent's process, from its registration to its end; a process whose session is lost
opens another one.
"""

ShardId = NewType("ShardId", str)
"""The UUID of a shard: one project on one device group."""

COMMON_PROJECT = ProjectId("")
"""The project of a device group's common shard."""
