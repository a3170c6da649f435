"""Ids that mean something by themselves."""

from typing import NewType

ProjectId = NewType("ProjectId", str)

COMMON_PROJECT = ProjectId("")
"""The tenant of a device group's common shard: what belongs to nobody in particular."""
