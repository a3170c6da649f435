"""The mirror: load balancers that another system, such as Octavia, has and this one serves."""
