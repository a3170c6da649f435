"""Sessions of agents, shards and their epochs."""
