"""The operators' API: environments, agents, shards, quotas, flavors, subnets."""
