"""Sessions of agents, shards and their epochs: where two processes meet."""
