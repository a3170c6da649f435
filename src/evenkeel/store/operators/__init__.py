"""Stores and reads for the operators' API: environments, agents, shards, quotas, flavors, subnets."""
