"""The operators' API: agents, environments, subnets, shards, events, counts."""
