"""``evenkeel config import``: converts the configuration of F5's agent and of Neutron to ours."""
