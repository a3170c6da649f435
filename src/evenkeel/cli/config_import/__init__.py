"""``evenkeel config import``: the configuration of F5's agent and of Neutron becomes ours."""
