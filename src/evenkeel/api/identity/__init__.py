"""Authentication: one port, four implementations, of which a process uses one. Authorization is in the policy."""
