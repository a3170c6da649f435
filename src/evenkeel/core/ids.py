"""Names for the strings that travel through the system, so that the type checker keeps them apart."""

from typing import NewType

LoadBalancerId = NewType("LoadBalancerId", str)
ListenerId = NewType("ListenerId", str)
PoolId = NewType("PoolId", str)
MemberId = NewType("MemberId", str)
HealthMonitorId = NewType("HealthMonitorId", str)
ProjectId = NewType("ProjectId", str)
AgentId = NewType("AgentId", str)
SessionId = NewType("SessionId", str)
ShardId = NewType("ShardId", str)
SubnetId = NewType("SubnetId", str)
EnvironmentName = NewType("EnvironmentName", str)

COMMON_PROJECT = ProjectId("")
"""The tenant of a device group's common shard: what belongs to nobody in particular."""
