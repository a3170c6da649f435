"""Networks, subnets, addresses and ports that load balancers and devices use."""
