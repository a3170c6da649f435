"""What operators see and set: environments, agents, shards, quotas, flavors, subnets."""
