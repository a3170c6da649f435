"""Records of the control plane: environments, agents, shards, events, and what is due."""
