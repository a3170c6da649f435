"""Authentication: one port, four implementations, of which the process uses one. The policy authorizes."""
